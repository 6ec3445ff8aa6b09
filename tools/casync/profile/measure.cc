// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/profile/measure.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "casync/model/codec_choice.h"
#include "compll/codec/codec.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/executor/link_pace.h"
#include "tools/casync/codec_figures/figures.h"
#include "tools/casync/formatted.h"
#include "tools/casync/profile/codec_points.h"
#include "tools/casync/profile/device_costs.h"
#include "tools/casync/profile/fit.h"
#include "tools/casync/profile/processors.h"
#include "tools/casync/profile/terms.h"
#include "tools/measure/bench_codec.h"
#include "tools/measure/bench_transport.h"

namespace casync::tools {
namespace {

constexpr std::size_t kWorkPoints = 4;  ///< of a curve of processor time
constexpr int kLinkRounds = 3;
constexpr Bytes kPairedBytes = 1_MiB;
constexpr double kMuchSlower = 1.25;           ///< of links between nodes: not by chance
constexpr double kTinyBytes = 256;             ///< of a message in a step of tiny gradients
constexpr Elements kCold = Elements{1} << 24;  ///< elements that are in no cache when their turn comes

/// Keeps the best of each: other programs on the machine only ever add time.
void keep_best(const std::vector<TransportBenchRow>& rows, std::vector<TransportBenchRow>& best) {
  if (best.empty()) best = rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    best[i].latency_least_us = std::min(best[i].latency_least_us, rows[i].latency_least_us);
    best[i].exchange_least_ms = std::min(best[i].exchange_least_ms, rows[i].exchange_least_ms);
    best[i].bandwidth_gib_s = std::max(best[i].bandwidth_gib_s, rows[i].bandwidth_gib_s);
  }
}

class Measurement {
 public:
  explicit Measurement(const ProfileOptions& options) : options_(options) {}

  Result<MeasuredProfile> run() {
    CASYNC_RETURN_IF_ERROR(options_.job == nullptr ? own_links() : links(*options_.job));
    add_task_costs(options_, made_);
    OwnProcessors own{options_.processors};
    if (options_.job != nullptr) {
      Result<OwnProcessors> share = options_.job->own_processors();
      CASYNC_RETURN_IF_ERROR(share.status());
      own = std::move(*share);
      // The others leave the processors to the first rank.
      CASYNC_RETURN_IF_ERROR(options_.job->close());
      if (options_.job->rank() != 0) return std::move(made_);
    }
    if (!own.processors.empty()) made_.profile.processors = static_cast<int>(own.processors.size());
    if (!options_.device.empty()) {
      CASYNC_RETURN_IF_ERROR(add_device_costs(options_, made_));
      return std::move(made_);
    }
    memory();
    for (const std::string& codec : options_.codecs) CASYNC_RETURN_IF_ERROR(this->codec(codec));
    CASYNC_RETURN_IF_ERROR(add_contention(options_, own.processors, made_));
    share_processors(own.ranks_of_each, made_);
    return std::move(made_);
  }

 private:
  Status own_links() {
    const auto fork = [](const TransportBenchOptions& bench) { return bench_transport(bench); };
    CASYNC_RETURN_IF_ERROR(link("inside", options_.inside, fork, made_.profile.inside));
    return link("between", options_.between, fork, made_.profile.between);
  }

  Status links(ProfileJob& job) {
    const auto pair_link = [&](const char* name, const std::string& transport, std::pair<Rank, Rank> pair, Link& link) {
      const std::string text = formatted("%s, rank %d to rank %d", name, pair.first, pair.second);
      return this->link(
          text, transport, [&](const TransportBenchOptions& bench) { return job.measure(bench, pair); }, link);
    };
    Profile& profile = made_.profile;
    if (const auto pair = job.inside()) {
      CASYNC_RETURN_IF_ERROR(pair_link("inside", options_.inside, *pair, profile.inside));
    }
    const std::vector<std::pair<Rank, Rank>> pairs = job.between();
    if (!pairs.empty()) {
      const Result<std::pair<Rank, Rank>> pair = slowest_of(pairs, job);
      CASYNC_RETURN_IF_ERROR(pair.status());
      CASYNC_RETURN_IF_ERROR(pair_link("between", options_.between, *pair, profile.between));
    }
    CASYNC_RETURN_IF_ERROR(add_fans(options_, job, made_));
    if (!job.inside()) profile.inside = profile.between;
    if (pairs.empty()) profile.between = profile.inside;
    profile.node_shares_port = true;
    return Status::ok();
  }

  /// The pair of nodes with the slowest link, for which all ranks wait; the first pair if none is much slower.
  Result<std::pair<Rank, Rank>> slowest_of(const std::vector<std::pair<Rank, Rank>>& pairs, ProfileJob& job) {
    std::pair<Rank, Rank> slowest = pairs.front();
    if (pairs.size() == 1) return slowest;
    options_.progress(formatted("between: %zu pairs of nodes", pairs.size()));
    TransportBenchOptions bench;
    bench.transport = options_.between;
    bench.seconds_per_size = options_.quick ? 0.03 : 0.1;
    bench.sizes = {kPairedBytes};
    double first = 0, least = 0;
    for (const std::pair<Rank, Rank>& pair : pairs) {
      const Result<TransportBench> measured = job.measure(bench, pair);
      if (!measured) return measured.status();
      const double gib_s = measured->rows.front().bandwidth_gib_s;
      made_.notes.push_back(
          formatted("between, rank %d to rank %d: %.2f GiB/s in messages of 1 MiB", pair.first, pair.second, gib_s));
      if (first == 0) first = least = gib_s;
      if (gib_s < std::min(least, first / kMuchSlower)) {
        slowest = pair;
        least = gib_s;
      }
    }
    return slowest;
  }

  /// A port is busy with a message for the time between messages when many are under way; the latency is the rest of
  /// half a round trip of the smallest.
  template <class Bench>
  Status link(const std::string& name, const std::string& transport, const Bench& measure, Link& link) {
    options_.progress(name + ": " + transport);
    TransportBenchOptions bench;
    bench.transport = transport;
    bench.seconds_per_size = options_.quick ? 0.04 : 0.4;
    for (Bytes bytes = 256; bytes <= (options_.quick ? 4_MiB : 16_MiB); bytes *= 4) bench.sizes.push_back(bytes);
    std::vector<TransportBenchRow> best;
    Bytes announced = 0;
    for (int round = 0; round < kLinkRounds; ++round) {
      const Result<TransportBench> measured = measure(bench);
      if (!measured) return measured.status();
      keep_best(measured->rows, best);
      announced = measured->announced_bytes;
    }
    // Over a slow link messages leave unasked.
    const bool is_fast = best.back().bandwidth_gib_s * 0x1p30 >= runtime::LinkPace::kFast;
    link.announced_bytes = is_fast ? static_cast<double>(announced) : 0;
    std::vector<Curve::Point> port, trip, both;
    for (const TransportBenchRow& row : best) {
      const double seconds = static_cast<double>(row.bytes) / (row.bandwidth_gib_s * 0x1p30);
      port.push_back({static_cast<double>(row.bytes), seconds});
      trip.push_back({static_cast<double>(row.bytes), row.latency_least_us * 1e-6});
      both.push_back({static_cast<double>(row.bytes), row.exchange_least_ms * 1e-3});
    }
    const TransportBenchRow& largest = best.back();
    made_.notes.push_back(formatted("%s (%s): %.2f GiB/s one way; both ways at once take %.2f times as long",
                                    name.c_str(), transport.c_str(), largest.bandwidth_gib_s,
                                    largest.exchange_least_ms * 1e-3 / port.back().seconds));
    link.latency_s = std::max(0.0, trip.front().seconds - port.front().seconds);
    link.wire = fitted(made_, name + ": port", std::move(port));
    made_.raw.push_back({name + ": half a round trip", std::move(trip), 0, 0});
    made_.raw.push_back({name + ": both ways at once, each of so many bytes", std::move(both), 0, 0});
    return work(name, bench, measure, link);
  }

  /// The processor time of a message on each side while as many come the other way, as they do in an all-reduce.
  template <class Bench>
  Status work(const std::string& name, TransportBenchOptions bench, const Bench& measure, Link& link) {
    bench.processor_time = true;
    std::vector<Curve::Point> send, receive, both;
    for (int round = 0; round < kLinkRounds; ++round) {
      const Result<TransportBench> measured = measure(bench);
      if (!measured) return measured.status();
      for (std::size_t i = 0; i < measured->rows.size(); ++i) {
        const TransportBenchRow& row = measured->rows[i];
        if (round == 0) {
          const auto bytes = static_cast<double>(row.bytes);
          send.push_back({bytes, row.send_processor_s});
          receive.push_back({bytes, row.receive_processor_s});
          both.push_back({bytes, row.both_processor_s});
        }
        send[i].seconds = std::min(send[i].seconds, row.send_processor_s);
        receive[i].seconds = std::min(receive[i].seconds, row.receive_processor_s);
        both[i].seconds = std::min(both[i].seconds, row.both_processor_s);
      }
    }
    const double one_way = send.back().seconds + receive.back().seconds;
    share_out(both, send, receive);
    const auto each_byte_ns = [](const Curve::Point& point) { return 1e9 * point.seconds / point.size; };
    made_.notes.push_back(formatted("%s: a byte takes %.3f ns of the sender's processors and %.3f ns of the receiver's",
                                    name.c_str(), each_byte_ns(send.back()), each_byte_ns(receive.back())));
    made_.notes.push_back(formatted("%s: both ways at once take %.2f times the processor time of one after the other",
                                    name.c_str(), both.back().seconds / one_way));
    link.send_work = fitted(made_, name + ": processor time of the sender", std::move(send), kWorkPoints);
    link.receive_work = fitted(made_, name + ": processor time of the receiver", std::move(receive), kWorkPoints);
    return Status::ok();
  }

  void memory() {
    options_.progress("memory");
    CodecBenchOptions bench;
    bench.seconds = options_.quick ? 0.1 : 0.5;
    const OperationTime copy = measure_copy(bench);
    made_.profile.memory_bytes_per_second = std::round(gigabytes_per_second(copy, bench.total) * 100) * 1e7;
  }

  Status codec(const std::string& name) {
    options_.progress("codec " + name);
    const Result<CodecChoice> choice = parse_codec_choice(name);
    if (!choice) return choice.status();
    if (compll::has_rounds(choice->name)) return rounds(name, *choice);
    const Result<std::unique_ptr<compll::Codec>> codec = compll::make_codec(choice->name, choice->parameters);
    if (!codec) return codec.status();
    CodecPoints points;
    for (const Elements n : measured_sizes(512, options_.quick ? 32 : 8, options_.largest)) {
      CodecBenchOptions bench;
      bench.partition = n;
      bench.total = kCold;
      bench.merged = kManyMerged;
      bench.own = true;
      bench.seconds = options_.quick ? 0.02 : 0.1;
      CodecPasses passes(**codec, bench);
      const CodecBenchResult result = passes.measure();
      const double times = static_cast<double>(bench.total) / static_cast<double>(n);
      const auto size = static_cast<double>(n);
      if (!(*codec)->info().identity) {
        points.encode.push_back({size, result.encode.seconds / times});
        points.decode.push_back({size, result.decode.seconds / times});
      }
      points.few.push_back({size, passes.measure_merge(kFewMerged).seconds / times});
      points.many.push_back({size, result.merge.seconds / times});
    }
    add_codec(made_, name, std::move(points));
    return Status::ok();
  }

  /// A codec that exchanges within a step: `encode` is all of a step's turns, by the elements of a square matrix.
  Status rounds(const std::string& name, const CodecChoice& choice) {
    const Result<std::unique_ptr<compll::RoundsCodec>> codec =
        compll::make_rounds_codec(choice.name, choice.parameters);
    if (!codec) return codec.status();
    std::vector<Curve::Point> turns;
    const auto longest = static_cast<Elements>(std::sqrt(static_cast<double>(options_.largest)));
    for (const Elements side : measured_sizes(32, options_.quick ? 4 : 2, longest)) {
      turns.push_back({static_cast<double>(side * side), turns_seconds(**codec, side, options_.quick ? 0.05 : 0.2)});
    }
    made_.profile.codecs[name].encode = fitted(made_, name + " turns of a step", std::move(turns));
    return Status::ok();
  }

  const ProfileOptions& options_;
  MeasuredProfile made_;
};

}  // namespace

Result<MeasuredProfile> measure_profile(const ProfileOptions& options) { return Measurement(options).run(); }

}  // namespace casync::tools
