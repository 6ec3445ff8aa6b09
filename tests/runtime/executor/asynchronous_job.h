// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/executor/run_states.h"
#include "tests/runtime/executor/one_rank.h"

namespace casync::test {

/// Asynchronous ranks with one gradient, which rank 0 owns. The test drives them round by round.
struct AsynchronousJob {
  explicit AsynchronousJob(std::uint64_t epoch, const Asynchronous& rule = {}) : ranks(make_ranks(2, epoch)) {
    Plan plan;
    plan.mode.asynchronous = rule;
    const Topology topology = Topology::flat(2);
    const Result<runtime::Declared> declared =
        runtime::declare_gradient(plan, {"weight", DType::kFloat32, {100}, 0}, topology);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      std::vector<std::unique_ptr<runtime::GradientRun>> taken;
      taken.push_back(std::move(runtime::make_run(*declared, topology, static_cast<Rank>(rank), 0)).value());
      runs.push_back(taken[0].get());
      if (!runtime::allocate_kept(*taken[0], *ranks[rank]->device)) throw std::runtime_error("no memory");
      if (!ranks[rank]->parts.take_in(std::move(taken))) throw std::runtime_error("no memory");
    }
  }
  runtime::AsynchronousRanks& of(std::size_t rank) { return ranks[rank]->parts.asynchronous; }
  /// A step of one rank, as far as it goes. Returns what the rank is told of the first element.
  float step(std::size_t rank, std::uint32_t number, float value) {
    values[rank].assign(100, value);
    ranks[rank]->begin(*runs[rank], number, values[rank]);
    run_all(ranks);
    return values[rank][0];
  }

  std::vector<std::unique_ptr<OneRank>> ranks;
  std::vector<runtime::GradientRun*> runs;
  std::vector<float> values[2];
};

}  // namespace casync::test
