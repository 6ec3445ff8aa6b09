// SPDX-License-Identifier: Apache-2.0
//
// Bundles that are dissolved at their owner, and at a rank that has sent its own.
#include "runtime/executor/dissolved_bundles.h"

#include <catch2/catch.hpp>

#include "tests/runtime/executor/bundle_job.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

struct DissolvedJob : test::BundleJob {
  explicit DissolvedJob(std::uint64_t epoch) : BundleJob(epoch) {}
  void dissolve(std::size_t rank) {
    test::OneRank& one = *ranks[rank];
    WaitingBundles waiting(one.parts.arena, one.parts.runs, one.parts.messages, one.failures);
    DissolvedBundles dissolved(*one.transport, one.parts.arena, one.parts.ready, one.parts.steps, one.waiters, waiting);
    dissolved.dissolve(bundle(rank));
    CHECK(waiting.empty());
    CHECK_FALSE(bundle(rank).step.is_under_way());
    CHECK(runs[rank][0]->step.is_under_way());
    CHECK(&runs[rank][0]->under_way() == runs[rank][0]);
  }
};

}  // namespace

TEST_CASE("dissolved bundles: members of an owner take contributions one by one") {
  DissolvedJob job(910);
  job.begin_together(0);
  test::run_all(job.ranks);
  job.dissolve(0);
  CHECK(job.ranks[0]->waiters.active() == 3);
  for (std::size_t i = 0; i < job.kGradients; ++i) {
    job.begin_one(1, i);
    test::run_all(job.ranks);
    CHECK(job.runs[0][i]->step.completed() == 1);
  }
  job.check_done();
}

TEST_CASE(
    "dissolved bundles: members of a rank that has sent the bundle do not send again, and the send is waited for") {
  DissolvedJob job(911);
  job.begin_together(1);
  while (!job.bundle(1).parts->has_begun_sends()) job.ranks[1]->round();
  REQUIRE(job.bundle(1).parts->has_sends_out());  // the transport says later that it has left
  job.dissolve(1);
  CHECK(job.ranks[1]->waiters.active() == 4);
  for (std::size_t i = 0; i < job.kGradients; ++i) job.begin_one(0, i);
  test::run_all(job.ranks);
  CHECK_FALSE(job.bundle(1).parts->has_sends_out());
  CHECK(job.ranks[1]->transport->stats().messages_sent == 1);
  job.check_done();
}
