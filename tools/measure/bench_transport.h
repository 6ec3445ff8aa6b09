// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace casync {

struct TransportBenchOptions {
  std::string transport = "ucx";  ///< any that two processes can share
  std::string interface_name;
  std::vector<Bytes> sizes;
  bool checksum = true;
  Bytes piece_bytes = 1_MiB;
  double seconds_per_size = 0.5;  ///< of each of the three measurements
  /// Only the stream, one way and both ways, and their processor time: neither side polls while waiting, so that
  /// waiting costs nothing but going to sleep and waking up.
  bool processor_time = false;
};

/// Between two processes on this machine, for one message size.
struct TransportBenchRow {
  Bytes bytes = 0;
  double latency_us = 0;  ///< half a round trip, median
  double latency_least_us = 0;
  double bandwidth_gib_s = 0;  ///< one way, several messages under way
  double exchange_ms = 0;      ///< the messages of a bare two-rank all-reduce of `bytes`, median: see below
  double exchange_least_ms = 0;
  // Processor seconds of one message of the stream, if asked for: of all threads of each process.
  double send_processor_s = 0;
  double receive_processor_s = 0;
  double both_processor_s = 0;  ///< of one sent and one received, at one process, while both stream
};

struct TransportBench {
  std::string description;    ///< the transport's own
  Bytes announced_bytes = 0;  ///< Transport::announced_bytes
  std::vector<TransportBenchRow> rows;
};

/// Forks a partner and measures. The exchange moves what an all-reduce of `bytes` moves without reducing: half of
/// it there in messages of at most 1 MiB, each sent on when it arrives, both ways at once.
/// Call while this process has opened no transport and started no threads: forking would copy them half.
/// Errors as make_transport; PeerFailure: the partner died; InvalidArgument: a transport of threads.
Result<TransportBench> bench_transport(const TransportBenchOptions& options);

/// One of two processes that measure together, on one machine or two.
struct TransportBenchSide {
  Rank rank = 0;            ///< 0 or 1
  std::uint64_t epoch = 0;  ///< of this measurement, the same on both
  /// Gives the other side this side's address (or "", where there is none) and returns the other's.
  std::function<Result<std::string>(const std::string&)> swap_addresses;
};

/// The same between this process and another that calls it, too. Both get the rows. Errors as bench_transport.
Result<TransportBench> bench_transport(const TransportBenchOptions& options, const TransportBenchSide& side);

}  // namespace casync
