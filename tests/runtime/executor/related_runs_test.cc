// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/related_runs.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

std::unique_ptr<GradientRun> made(const std::string& name) { return test::make_weight(name, 2, 0); }

}  // namespace

TEST_CASE("related runs: each warm-up replaces a run until its end, and none does afterwards") {
  RelatedRuns related;
  CHECK_FALSE(related.has_warm_up());
  CHECK(related.warm_up_in(0) == nullptr);
  related.add_warm_up(2, made("first"));
  GradientRun* const first = &related.last_warm_up();
  related.add_warm_up(5, made("second"));
  GradientRun* const second = &related.last_warm_up();
  CHECK(related.has_warm_up());
  GradientRun* const expected[] = {first, first, second, second, second, nullptr, nullptr};
  for (std::uint32_t step = 0; step < std::size(expected); ++step) CHECK(related.warm_up_in(step) == expected[step]);
  std::vector<std::uint32_t> ends;
  related.for_each_end([&](std::uint32_t end) { ends.push_back(end); });
  CHECK(ends == std::vector<std::uint32_t>{2, 5});
}

TEST_CASE("related runs: neighbourhoods are in order, and the consensus is one of them") {
  RelatedRuns related;
  related.add_gossip(made("left"));
  CHECK(related.consensus() == nullptr);
  related.add_consensus(made("all"));
  related.add_warm_up(1, made("warm-up"));
  REQUIRE(related.neighbourhoods() == 2);
  CHECK(related.gossip(0).spec.name == "left");
  CHECK(&related.gossip(1) == related.consensus());
  std::vector<std::string> warm_up, gossip;
  related.for_each([&](const GradientRun& run) { warm_up.push_back(run.spec.name); },
                   [&](const GradientRun& run) { gossip.push_back(run.spec.name); });
  CHECK(warm_up == std::vector<std::string>{"warm-up"});
  CHECK(gossip == std::vector<std::string>{"left", "all"});
}

TEST_CASE("related runs: a run replaces another in one step") {
  const auto outer = made("outer"), inner = made("inner");
  CHECK(inner->related.outer() == nullptr);
  inner->related.belong_to(*outer);
  CHECK(inner->related.outer() == outer.get());
  outer->begin(0, {});
  outer->related.choose(inner.get());
  CHECK(&outer->under_way() == inner.get());
  outer->begin(1, {});
  CHECK(&outer->under_way() == outer.get());
}
