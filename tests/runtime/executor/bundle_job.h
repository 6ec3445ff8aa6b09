// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/executor/one_rank.h"

namespace casync::test {

/// Three small gradients of two ranks, which may travel as one. Rank 0 owns them. The test drives them round by round.
struct BundleJob {
  static constexpr std::size_t kGradients = 3;

  explicit BundleJob(std::uint64_t epoch) : ranks(make_ranks(2, epoch, {.fusion_bytes = 64_KiB})) {
    for (std::size_t rank = 0; rank < 2; ++rank) {
      std::vector<std::unique_ptr<runtime::GradientRun>> taken;
      for (std::size_t i = 0; i < kGradients; ++i) {
        taken.push_back(make_weight("weight" + std::to_string(i), 2, static_cast<Rank>(rank)));
        runs[rank].push_back(taken.back().get());
        values[rank].emplace_back(100, static_cast<float>(rank + 1));
      }
      REQUIRE(ranks[rank]->parts.take_in(std::move(taken)).is_ok());
      REQUIRE(runs[rank][0]->seat.bundle() != nullptr);
    }
  }
  runtime::GradientRun& bundle(std::size_t rank) { return *runs[rank][0]->seat.bundle(); }
  runtime::GradientStart start(std::size_t rank, std::size_t gradient) {
    std::vector<float>& own = values[rank][gradient];
    return {runs[rank][gradient], 0, {reinterpret_cast<std::byte*>(own.data()), own.size() * sizeof(float)}};
  }
  void begin(std::size_t rank, std::span<const runtime::GradientStart> starts) {
    ranks[rank]->waiters.begin(static_cast<int>(starts.size()));
    ranks[rank]->parts.bundles.begin_all(starts);
  }
  void begin_one(std::size_t rank, std::size_t gradient) {
    const runtime::GradientStart one = start(rank, gradient);
    begin(rank, {&one, 1});
  }
  void begin_together(std::size_t rank) {
    const runtime::GradientStart starts[] = {start(rank, 0), start(rank, 1), start(rank, 2)};
    begin(rank, starts);
  }
  void check_done() {
    for (std::size_t rank = 0; rank < 2; ++rank) {
      INFO("rank " << rank);
      CHECK(ranks[rank]->reported.empty());
      CHECK(ranks[rank]->waiters.active() == 0);
      for (std::size_t i = 0; i < kGradients; ++i) {
        CHECK(runs[rank][i]->step.completed() == 1);
        CHECK(values[rank][i] == std::vector<float>(100, 3));
      }
    }
  }

  std::vector<std::unique_ptr<OneRank>> ranks;
  std::vector<runtime::GradientRun*> runs[2];
  std::vector<std::vector<float>> values[2];
};

}  // namespace casync::test
