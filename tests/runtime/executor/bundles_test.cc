// SPDX-License-Identifier: Apache-2.0
//
// Small gradients of two ranks, round by round: as one, and where a rank begins them one by one.
#include "runtime/executor/bundles.h"

#include <catch2/catch.hpp>

#include "tests/runtime/executor/bundle_job.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("bundles: gradients that begin together on both ranks travel as one") {
  test::BundleJob job(795);
  CHECK(job.runs[0][0]->seat.bundle() == job.runs[0][2]->seat.bundle());
  for (const std::size_t rank : {0u, 1u}) job.begin_together(rank);
  CHECK(&job.runs[0][0]->under_way() == &job.bundle(0));
  test::run_all(job.ranks);
  job.check_done();
  CHECK(job.ranks[0]->record.counters().tasks == job.bundle(0).graph.tasks().size());
}

TEST_CASE("bundles: one that comes where its members begin one by one is taken apart") {
  test::BundleJob job(796);
  job.begin_together(1);
  test::run_all(job.ranks);  // it waits for its place
  for (std::size_t i = 0; i < test::BundleJob::kGradients; ++i) {
    job.begin_one(0, i);
    test::run_all(job.ranks);
  }
  job.check_done();
}

TEST_CASE("bundles: a message of one member dissolves a bundle that is under way") {
  test::BundleJob job(797);
  job.begin_together(0);
  test::run_all(job.ranks);
  CHECK(job.bundle(0).step.is_under_way());
  job.begin_one(1, 0);
  test::run_all(job.ranks);
  CHECK_FALSE(job.bundle(0).step.is_under_way());
  CHECK(job.runs[0][0]->step.completed() == 1);
  CHECK(job.runs[0][1]->step.completed() == 0);
  const GradientStart others[] = {job.start(1, 1), job.start(1, 2)};
  job.begin(1, others);
  test::run_all(job.ranks);
  job.check_done();
}
