// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/loaded_results.h"

#include <catch2/catch.hpp>

#include <limits>

#include "tests/runtime/session/late_cases.h"

using namespace casync;              // NOLINT(google-build-using-namespace)
using namespace casync::runtime;     // NOLINT(google-build-using-namespace)
using namespace casync::test::late;  // NOLINT(google-build-using-namespace)

namespace {

/// A state with two results of "a" that come two steps late, and a residual.
SessionState state_of(const Values& first, const Values& second) {
  SessionState state;
  state.gradients["a"] = {"int4", {9, 9}};
  state.gradients["a (late 1)"] = {"2 steps late", first};
  state.gradients["a (late 2)"] = {"2 steps late", second};
  return state;
}

}  // namespace

TEST_CASE("loaded results: a gradient that is declared takes its own, and the others wait") {
  LoadedResults loaded(2);
  Gradients all(2);
  SessionState state = state_of({1, 1}, {2, 2});
  state.gradients["b (late 1)"] = {"2 steps late", {3, 3}};
  loaded.load(state);
  LateGradient& a = all.add(0, "a");
  REQUIRE(loaded.give(a));
  for (const float wanted : {1.0f, 2.0f}) {
    Values values = {7, 7};
    exchange(a, values, static_cast<std::uint32_t>(wanted));
    CHECK(values == Values{wanted, wanted});
  }
  SessionState rest;
  loaded.save(rest);
  REQUIRE(rest.gradients.size() == 1);
  CHECK(rest.gradients.at("b (late 1)").residual == Values{3, 3});
  loaded.load({});
  SessionState none;
  loaded.save(none);
  CHECK(none.gradients.empty());
}

TEST_CASE("loaded results: the submission that gets one that is not finite knows it") {
  LoadedResults loaded(2);
  Gradients all(2);
  loaded.load(state_of({1, 1}, {2, std::numeric_limits<float>::infinity()}));
  LateGradient& a = all.add(0, "a");
  REQUIRE(loaded.give(a));
  Values values = {7, 7};
  for (const std::uint32_t step : {3u, 5u, 6u}) {
    REQUIRE(a.take({GradientId(0), view_of(values)}, step));
    CHECK(a.loaded_is_finite() == (step != 5));
    REQUIRE(a.hand_over());
  }
}

TEST_CASE("loaded results: results of another staleness or size are refused") {
  const LoadedResults one(1);
  LoadedResults two(2);
  Gradients all(2);
  CHECK(one.check(state_of({1, 1}, {2, 2}), all.table).text() ==
        "InvalidArgument: gradient a: the state has results that come 2 steps late, by the plan here they come one "
        "step late");
  const SessionState longer = state_of({1, 1}, {2, 2, 2});
  const std::string refusal = "InvalidArgument: gradient a: a late result of 3 elements, it has 2";
  CHECK(two.check(longer, all.table).text() == "OK");  // no gradient is declared yet
  two.load(longer);
  LateGradient& a = all.add(0, "a");
  CHECK(two.give(a).text() == refusal);
  CHECK(two.check(longer, all.table).text() == refusal);
}
