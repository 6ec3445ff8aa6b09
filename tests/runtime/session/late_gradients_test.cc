// SPDX-License-Identifier: Apache-2.0
//
// Gradients whose results come late: their slots, and the table of them.
#include "runtime/session/late_gradients.h"

#include <catch2/catch.hpp>

#include "runtime/session/handles.h"
#include "tests/runtime/session/late_cases.h"

using namespace casync;              // NOLINT(google-build-using-namespace)
using namespace casync::runtime;     // NOLINT(google-build-using-namespace)
using namespace casync::test;        // NOLINT(google-build-using-namespace)
using namespace casync::test::late;  // NOLINT(google-build-using-namespace)

TEST_CASE("late gradient: a submission leaves its elements in a slot, and gets the result of the one so many earlier") {
  Gradients all(2);
  LateGradient& gradient = all.add(0, "a");
  for (std::uint32_t i = 0; i < 5; ++i) {
    const float value = 1 + static_cast<float>(i);
    Values values = {value, value};
    exchange(gradient, values, i);
    CHECK(values == (i < 2 ? Values{0, 0} : Values{10 * (value - 2), 10 * (value - 2)}));
    const auto submission = gradient.to_reduce(GradientId(7), i);
    REQUIRE(submission);
    CHECK(submission->gradient == GradientId(7));
    CHECK(values_of(*submission) == Values{value, value});
    reduce(gradient, i, {10 * value, 10 * value});
  }
  CHECK_FALSE(gradient.to_reduce(GradientId(7), 0));
}

TEST_CASE("late gradient: a result is due when the step of its slot is reduced, and the slot names the reduction") {
  Gradients all(1);
  LateGradient& gradient = all.add(0, "a");
  Values first = {1, 1}, second = {2, 2};
  REQUIRE(gradient.take({GradientId(0), view_of(first)}, 4));
  CHECK(gradient.due() == 0);
  CHECK_FALSE(gradient.is_handed_over(4));
  CHECK_FALSE(*gradient.has_result(4));
  REQUIRE(gradient.hand_over());
  CHECK(gradient.is_handed_over(4));
  CHECK(*gradient.has_result(4));
  gradient.begin_reducing(3, Handle(8));  // which has left it out
  CHECK_FALSE(gradient.reduction());
  gradient.begin_reducing(4, Handle(9));
  REQUIRE(gradient.take({GradientId(0), view_of(second)}, 6));
  CHECK(gradient.due() == 5);
  CHECK(gradient.reduction() == Handle(9));
  CHECK(*gradient.has_result(4));  // that step is over
  REQUIRE(gradient.hand_over());
  CHECK_FALSE(gradient.reduction());
  REQUIRE(gradient.hand_over());  // once
  CHECK(second == Values{1, 1});
}

TEST_CASE("late gradient: its results go into a state, and back in the order of the submissions that get them") {
  Gradients all(2), others(2);
  LateGradient& gradient = all.add(0, "a");
  for (std::uint32_t i = 0; i < 3; ++i) {
    Values values(2, 0.0f);
    exchange(gradient, values, i);
    reduce(gradient, i, Values(2, static_cast<float>(i)));
  }
  SessionState state;
  REQUIRE(gradient.save(state));
  CHECK(state.gradients.at("a (late 1)").residual == Values{1, 1});
  CHECK(state.gradients.at("a (late 2)").residual == Values{2, 2});
  LateGradient& other = others.add(0, "a");
  for (const std::uint32_t place : {1u, 0u}) {
    REQUIRE(other.load(place, state.gradients.at("a (late " + std::to_string(place + 1) + ")")));
  }
  for (std::uint32_t i = 3; i < 5; ++i) {
    Values values(2, 7.0f);
    exchange(other, values, i);
    CHECK(values == Values(2, static_cast<float>(i - 2)));
  }
  REQUIRE(other.forget());
  CHECK_FALSE(other.knows(3));
  CHECK_FALSE(other.to_reduce(GradientId(0), 4));
  Values values = {7, 7};
  exchange(other, values, 0);
  CHECK(values == Values{0, 0});
}

TEST_CASE("late gradients: a gradient is submitted once in a call, and once in a step") {
  Gradients all(1);
  all.add(1, "b");
  Values values = {1, 2}, few = {1};
  const auto check = [&](std::initializer_list<unsigned> ids, Values& of, std::uint32_t step = 0) {
    std::vector<Submission> calls;
    for (const unsigned id : ids) calls.push_back({GradientId(id), view_of(of)});
    return all.table.check(calls, step).text();
  };
  CHECK(check({1}, values) == "OK");
  CHECK(check({1}, values) == "OK");  // nothing was taken
  CHECK(check({1, 1}, values) == "InvalidArgument: gradient b is twice in one submission");
  CHECK(check({0}, values) == "InvalidArgument: no gradient has the id 0");
  CHECK(check({2}, values) == "InvalidArgument: no gradient has the id 2");
  CHECK_THAT(check({1}, few), Catch::Contains("gradient b: 4 bytes, declared with 8"));
  exchange(all.table.at(GradientId(1)), values, 0);
  CHECK_THAT(check({1}, values), Catch::Contains("gradient b was submitted twice in step 0"));
  CHECK(check({1}, values, 1) == "OK");
}

TEST_CASE("late gradients: they are found by id, by name and by the handle of a submission") {
  Gradients all(1);
  LateGradient& b = all.add(1, "b");
  LateGradient& a = all.add(0, "a");
  CHECK(&all.table.at(GradientId(1)) == &b);
  CHECK(all.table.has(GradientId(0)));
  CHECK_FALSE(all.table.has(GradientId(2)));
  CHECK(all.table.find("a") == &a);
  CHECK(all.table.find("c") == nullptr);
  Values values = {1, 1};
  exchange(b, values, 3);
  CHECK(*all.table.of(handle_of(3, GradientId(1))) == &b);
  for (const Handle handle : {handle_of(3, GradientId(0)), handle_of(4, GradientId(1)), handle_of(3, GradientId(2))}) {
    CHECK(all.table.of(handle).status().text() ==
          "InvalidArgument: no submission gave the handle " + std::to_string(static_cast<std::uint64_t>(handle)));
  }
}

TEST_CASE("late gradients: a step's submissions are gathered, and handed over together") {
  Gradients all(1);
  for (const unsigned id : {0u, 1u, 3u}) all.add(id, std::string(1, static_cast<char>('a' + id)));
  Values first = {1, 1}, second = {2, 2};
  const auto take = [&](unsigned id, Values& values, std::uint32_t step) {
    return all.table.at(GradientId(id)).take({GradientId(id), view_of(values)}, step).is_ok();
  };
  REQUIRE(take(3, first, 0));
  REQUIRE(take(0, second, 0));
  CHECK(all.table.under_way(0) == 2);
  CHECK(all.table.under_way(1) == 0);
  const Result<bool> there = all.table.hand_over_all();
  CHECK((there && *there));
  CHECK(first == Values{0, 0});
  std::vector<Submission> submissions(5);
  all.table.gather(0, &submissions);
  REQUIRE(submissions.size() == 2);
  CHECK(submissions[0].gradient == GradientId(0));
  CHECK(values_of(submissions[0]) == Values{2, 2});
  CHECK(submissions[1].gradient == GradientId(3));
  all.table.gather(1, &submissions);
  CHECK(submissions.empty());
  REQUIRE(all.table.forget());
  CHECK(all.table.under_way(0) == 0);
}
