// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "compll/codec/rounds_codec.h"
#include "runtime/device/host/host_device.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/progress_parts.h"
#include "runtime/session/declarations.h"
#include "runtime/session/hop_codecs.h"
#include "runtime/transport/loopback/factory.h"

namespace casync::test {

/// The run of a gradient of float32 elements; of a small one rank 0 owns the only partition.
inline std::unique_ptr<runtime::GradientRun> make_weight(const std::string& name, int ranks, Rank self,
                                                         Elements elements = 100) {
  const Topology topology = Topology::flat(ranks);
  const Result<runtime::Declared> declared =
      runtime::declare_gradient(Plan{}, {name, DType::kFloat32, {static_cast<std::int64_t>(elements)}, 0}, topology);
  return std::move(runtime::make_run(*declared, topology, self, 0)).value();
}

/// A codec of one round whose turns do nothing.
class NoTurns final : public compll::RoundsCodec {
 public:
  NoTurns() {
    info_.rounds = 1;
    info_.exchanges.assign(1, compll::ExchangeKind::kSum);
  }
  const compll::CodecInfo& info() const override { return info_; }
  compll::RoundsShape shape(Elements, Elements) const override { return {{1}, 0, 0}; }
  void prepare_thread() const override {}
  void turn(const compll::Turn&, const compll::EncodeContext&) const override {}

 private:
  compll::CodecInfo info_;
};

/// The run of a gradient with these extents whose codec works in rounds. The test adds its exchanges.
inline std::unique_ptr<runtime::GradientRun> make_rounds_weight(std::unique_ptr<compll::RoundsCodec> codec, int ranks,
                                                                Rank self, Elements rows = 10, Elements columns = 10) {
  const Topology topology = Topology::flat(ranks);
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
  const Result<runtime::Declared> declared =
      runtime::declare_gradient(Plan{}, {"weight", DType::kFloat32, shape, 0}, topology);
  runtime::RunExtras extras;
  extras.rounds = std::make_unique<runtime::RoundsRun>(std::move(codec), rows, columns);
  return std::make_unique<runtime::GradientRun>(
      declared->spec, declared->decision, TaskGraph(),
      std::move(runtime::make_codecs(declared->decision, DType::kFloat32)).value(),
      runtime::RunName{declared->key, self}, std::move(extras));
}

/// No gradient travels with another.
inline constexpr runtime::ExecutorOptions kOneByOne{.fusion_bytes = 0};

/// The parts of one rank's executor, in the hands of the test instead of a progress thread.
struct OneRank {
  OneRank(Rank self, int ranks, std::uint64_t epoch, runtime::ExecutorOptions wanted = kOneByOne)
      : options(of_rank(self, ranks, wanted)), transport(open(self, ranks, epoch)) {
    events.peer_broke = [this](Rank peer, const Status& status) { broke.emplace_back(peer, status.text()); };
    events.failed = [this](const Status& status) { reported.push_back(status.text()); };
    events.peer_compares = [this](std::uint64_t number) { compared.push_back(number); };
  }

  /// Takes in a gradient; returns its run.
  runtime::GradientRun& take_in(const std::string& name = "weight", Elements elements = 100) {
    std::vector<std::unique_ptr<runtime::GradientRun>> runs;
    runs.push_back(make_weight(name, options.ranks, options.rank, elements));
    runtime::GradientRun& run = *runs[0];
    if (!parts.take_in(std::move(runs))) throw std::runtime_error("no memory");
    return run;
  }
  /// Begins a step of `run` with `values`, which must hold as many elements.
  void begin(runtime::GradientRun& run, std::uint32_t step, std::vector<float>& values) {
    waiters.begin(1);
    parts.steps.begin({&run, step, {reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(float)}});
  }
  /// One round of a progress thread, without requests.
  bool round() {
    bool busy = parts.computing.take_ended();
    busy |= transport->progress();
    busy |= parts.computing.run_ready();
    return parts.links.flush() || busy;
  }
  /// Calls what has been posted.
  void take_requests() {
    std::vector<runtime::GradientStart> starts;
    for (const runtime::Requests::Call& call : requests.take(starts)) call();
  }

  const runtime::ExecutorOptions options;
  const std::unique_ptr<runtime::Device> device = runtime::make_host_device();
  const std::unique_ptr<runtime::Transport> transport;
  runtime::ExecutorEvents events;
  std::vector<std::pair<Rank, std::string>> broke;  ///< the events, as they came
  std::vector<std::string> reported;
  std::vector<std::uint64_t> compared;
  runtime::Waiters waiters;
  runtime::Requests requests{*transport, waiters};
  runtime::Failures failures{requests, waiters, events};
  runtime::WorkRecord record{nullptr};
  runtime::ProgressParts parts{options, *transport, *device, requests, waiters, failures, record, events};

 private:
  static runtime::ExecutorOptions of_rank(Rank self, int ranks, runtime::ExecutorOptions wanted) {
    wanted.rank = self;
    wanted.ranks = ranks;
    return wanted;
  }
  static std::unique_ptr<runtime::Transport> open(Rank self, int ranks, std::uint64_t epoch) {
    runtime::TransportOptions options;
    options.rank = self;
    options.ranks = ranks;
    options.epoch = epoch;
    return std::move(runtime::make_loopback(options)).value();
  }
};

/// The ranks of a job, connected.
inline std::vector<std::unique_ptr<OneRank>> make_ranks(int ranks, std::uint64_t epoch,
                                                        runtime::ExecutorOptions wanted = kOneByOne) {
  std::vector<std::unique_ptr<OneRank>> all;
  std::vector<std::string> addresses;
  for (Rank rank = 0; rank < ranks; ++rank) {
    all.push_back(std::make_unique<OneRank>(rank, ranks, epoch, wanted));
    addresses.push_back(all.back()->transport->address());
  }
  for (const auto& one : all) {
    if (!one->parts.computing.open()) throw std::runtime_error("no threads");
    if (!one->transport->connect(addresses, one->parts.messages)) throw std::runtime_error("not connected");
  }
  return all;
}

/// Rounds of all ranks, until none of them has anything to do.
inline void run_all(std::vector<std::unique_ptr<OneRank>>& all) {
  for (bool busy = true; busy;) {
    busy = false;
    for (const auto& one : all) busy |= one->round();
  }
}

/// A rank of two that has begun a step of its gradient, while the other one is silent.
struct BegunStep {
  BegunStep(Rank self, std::uint64_t epoch)
      : ranks(make_ranks(2, epoch)), one(*ranks[static_cast<std::size_t>(self)]), run(one.take_in()) {
    one.begin(run, 0, values);
  }

  std::vector<std::unique_ptr<OneRank>> ranks;
  OneRank& one;
  runtime::GradientRun& run;
  std::vector<float> values = std::vector<float>(100, 1);
};

/// Lets an executor take gradients in. After its end: its failure.
inline Status adopt(runtime::Executor& executor, std::vector<std::unique_ptr<runtime::GradientRun>> runs) {
  const auto shared = std::make_shared<std::vector<std::unique_ptr<runtime::GradientRun>>>(std::move(runs));
  const auto taken = executor.requests().ask<Status>(
      [&executor, shared] { return executor.take_in(std::move(*shared)); }, Seconds(60));
  return taken.value_or(executor.failures().failure());
}

}  // namespace casync::test
