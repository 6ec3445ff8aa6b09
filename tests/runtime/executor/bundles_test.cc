// SPDX-License-Identifier: Apache-2.0
//
// Small gradients of two ranks, round by round: as one, and where a rank begins them one by one.
#include "runtime/executor/bundles.h"

#include <catch2/catch.hpp>

#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::size_t kGradients = 3;

struct Job {
  explicit Job(std::uint64_t epoch) : ranks(test::make_ranks(2, epoch, {.fusion_bytes = 64_KiB})) {
    for (std::size_t rank = 0; rank < 2; ++rank) {
      std::vector<std::unique_ptr<GradientRun>> taken;
      for (std::size_t i = 0; i < kGradients; ++i) {
        taken.push_back(test::make_weight("weight" + std::to_string(i), 2, static_cast<Rank>(rank)));
        runs[rank].push_back(taken.back().get());
        values[rank].emplace_back(100, static_cast<float>(rank + 1));
      }
      REQUIRE(ranks[rank]->parts.take_in(std::move(taken)).is_ok());
    }
  }
  GradientStart start(std::size_t rank, std::size_t gradient) {
    std::vector<float>& own = values[rank][gradient];
    return {runs[rank][gradient], 0, {reinterpret_cast<std::byte*>(own.data()), own.size() * sizeof(float)}};
  }
  void begin(std::size_t rank, std::span<const GradientStart> starts) {
    ranks[rank]->waiters.begin(static_cast<int>(starts.size()));
    ranks[rank]->parts.bundles.begin_all(starts);
  }
  void begin_together(std::size_t rank) {
    const GradientStart starts[] = {start(rank, 0), start(rank, 1), start(rank, 2)};
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

  std::vector<std::unique_ptr<test::OneRank>> ranks;
  std::vector<GradientRun*> runs[2];
  std::vector<std::vector<float>> values[2];
};

}  // namespace

TEST_CASE("bundles: gradients that begin together on both ranks travel as one") {
  Job job(795);
  REQUIRE(job.runs[0][0]->seat.bundle() != nullptr);
  CHECK(job.runs[0][0]->seat.bundle() == job.runs[0][2]->seat.bundle());
  for (const std::size_t rank : {0u, 1u}) job.begin_together(rank);
  CHECK(&job.runs[0][0]->under_way() == job.runs[0][0]->seat.bundle());
  test::run_all(job.ranks);
  job.check_done();
  CHECK(job.ranks[0]->record.counters().tasks == job.runs[0][0]->seat.bundle()->graph.tasks().size());
}

TEST_CASE("bundles: one that comes where its members begin one by one is taken apart") {
  Job job(796);
  job.begin_together(1);
  test::run_all(job.ranks);  // it waits for its place
  for (std::size_t i = 0; i < kGradients; ++i) {
    const GradientStart one = job.start(0, i);
    job.begin(0, {&one, 1});
    test::run_all(job.ranks);
  }
  job.check_done();
}

TEST_CASE("bundles: a message of one member dissolves a bundle that is under way") {
  Job job(797);
  job.begin_together(0);
  test::run_all(job.ranks);
  CHECK(job.runs[0][0]->seat.bundle()->step.is_under_way());
  const GradientStart first = job.start(1, 0);
  job.begin(1, {&first, 1});
  test::run_all(job.ranks);
  CHECK_FALSE(job.runs[0][0]->seat.bundle()->step.is_under_way());
  CHECK(job.runs[0][0]->step.completed() == 1);
  CHECK(job.runs[0][1]->step.completed() == 0);
  const GradientStart others[] = {job.start(1, 1), job.start(1, 2)};
  job.begin(1, others);
  test::run_all(job.ranks);
  job.check_done();
}
