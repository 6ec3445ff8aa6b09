// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/bench/transport_table.h"

#include "tools/casync/this_machine.h"

namespace casync::tools {

Status print_transport_bench(const TransportBenchOptions& options, Format format) {
  const Result<TransportBench> bench = bench_transport(options);
  CASYNC_RETURN_IF_ERROR(bench.status());
  std::vector<std::string> about = about_this_machine();
  about.push_back("2 processes, " + bench.value().description);
  about.push_back("exchange: the messages of a 2-rank all-reduce, nothing reduced");
  Table table(format, about,
              {{"size_bytes", "size(B)", 11},
               {"latency_us", "latency(us)", 12},
               {"latency_min_us", "min(us)", 10},
               {"bandwidth_gib_s", "bandwidth(GiB/s)", 16, 3},
               {"exchange_ms", "exchange(ms)", 12, 3},
               {"exchange_min_ms", "min(ms)", 10, 3}});
  for (const TransportBenchRow& row : bench.value().rows) {
    table.add(
        {row.bytes, row.latency_us, row.latency_least_us, row.bandwidth_gib_s, row.exchange_ms, row.exchange_least_ms});
  }
  table.end();
  return Status::ok();
}

}  // namespace casync::tools
