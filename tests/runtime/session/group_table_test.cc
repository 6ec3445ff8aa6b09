// SPDX-License-Identifier: Apache-2.0
//
// The gradients and groups of a session with groups, and its step.
#include "runtime/session/group_table.h"

#include <catch2/catch.hpp>

#include <limits>

#include "runtime/session/grouped_step.h"
#include "runtime/session/handles.h"
#include "tests/runtime/session/group_parts.h"

using namespace casync;                // NOLINT(google-build-using-namespace)
using namespace casync::runtime;       // NOLINT(google-build-using-namespace)
using namespace casync::test;          // NOLINT(google-build-using-namespace)
using namespace casync::test::groups;  // NOLINT(google-build-using-namespace)

TEST_CASE("group table: a group that has all members is one gradient of the session, as are the others") {
  Table it;
  it.add("alone");
  it.add("b");
  CHECK(it.session.declared == std::vector<std::string>{"alone"});
  it.add("a");
  CHECK(it.session.declared == std::vector<std::string>{"alone", "g"});
  CHECK(it.table.find("alone") == GradientId(0));
  CHECK(it.table.find("a") == GradientId(2));
  CHECK(it.table.find("g") == std::nullopt);
  CHECK(it.table.at(GradientId(0)).own == GradientId(0));
  CHECK(it.table.at(GradientId(1)).place == 1);
  CHECK(it.table.declare({"g", DType::kFloat32, {2}, 0}).status().text() ==
        "InvalidArgument: gradient g: the plan has a group of this name: rename the group");
}

TEST_CASE("group table: a group leaves with its last member, and others at once") {
  Table it;
  for (const char* name : {"alone", "a", "b"}) it.add(name);
  Values alone = {9, 9}, a = {1, 2}, b = {3, 4};
  REQUIRE(it.check({0, 1, 2}) == "OK");
  const auto leaves = it.take(0, alone);
  REQUIRE(leaves);
  CHECK(leaves->data.data == view_of(alone).data);
  CHECK_FALSE(it.take(2, b));
  const auto group = it.take(1, a);
  REQUIRE(group);
  CHECK(group->gradient == GradientId(1));
  CHECK(values_of(*group) == Values{1, 2, 3, 4});
}

TEST_CASE("group table: a call names a member once, and a step has it once") {
  Table it;
  for (const char* name : {"a", "b"}) it.add(name);
  Values a = {1, 2};
  CHECK(it.check({0, 0}) == "InvalidArgument: gradient a is twice in one submission");
  CHECK(it.check({2}) == "InvalidArgument: no gradient has the id 2");
  it.submit(0, a);
  CHECK_THAT(it.check({0}), Catch::Contains("gradient a was submitted twice in step 0"));
  CHECK(it.check({1}) == "OK");
  CHECK(it.check({0}, 1) == "OK");
  it.table.forget();
  CHECK(it.check({0}) == "OK");
}

TEST_CASE("group table: a group with some members of a step only is named") {
  Table it;
  for (const char* name : {"a", "b"}) it.add(name);
  Values a = {1, 2}, b = {3, 4};
  CHECK(it.table.check_whole(0, ".").text() == "OK");
  it.submit(1, b);
  CHECK(it.table.check_whole(0, ": go on").text() ==
        "InvalidArgument: step 0: group `g` has not been submitted without `a`: go on");
  CHECK(it.table.check_whole(1, ".").text() == "OK");
  it.submit(0, a);
  CHECK(it.table.check_whole(0, ".").text() == "OK");
}

TEST_CASE("group table: a group that waits for members that may be declared has not left with those that there are") {
  Table it;
  it.add("b");
  Values b = {3, 4};
  it.submit(0, b);
  CHECK(
      it.table.check_whole(0, ": end the step").text() ==
      "InvalidArgument: step 0: group `g` has not been submitted without `a`, which was never declared: end the step");
  std::vector<Submission> whole;
  REQUIRE(it.table.close_open(0, &whole));
  it.table.left(0);
  CHECK(it.table.check_whole(0, ".").text() == "OK");
}

TEST_CASE("group table: a rank that submits nothing closes the groups that it has members of") {
  Table it;
  REQUIRE(it.table.close_declared());
  CHECK(it.session.declared.empty());
  it.add("b");
  REQUIRE(it.table.close_declared());
  CHECK(it.session.declared == std::vector<std::string>{"g"});
  REQUIRE(it.table.close_declared());
  CHECK(it.session.declared.size() == 1);
  CHECK_FALSE(it.table.declare(spec("a")));
}

TEST_CASE("group table: at the end of a step's submissions a group has the members that there are") {
  Table it;
  it.add("b");
  Values b = {3, 4};
  std::vector<Submission> whole;
  REQUIRE(it.table.close_open(0, &whole));
  CHECK(whole.empty());
  it.submit(0, b);
  CHECK_FALSE(it.table.at(GradientId(0)).has_left(0));
  REQUIRE(it.table.close_open(0, &whole));
  REQUIRE(whole.size() == 1);
  CHECK(values_of(whole[0]) == Values{3, 4});
  CHECK_THAT(it.table.declare(spec("a")).status().text(),
             Catch::Contains("group g has been sent, or its state was loaded, without it"));
  CHECK_FALSE(it.table.at(GradientId(0)).has_left(0));
  REQUIRE(it.table.close_open(0, &whole));
  CHECK(whole.size() == 2);  // the session has refused it
  it.table.left(0);
  CHECK(it.table.at(GradientId(0)).has_left(0));
  REQUIRE(it.table.close_open(0, &whole));
  CHECK(whole.size() == 2);  // and then once
}

TEST_CASE("group table: a handle is known once its member is submitted, and leads to the group's") {
  Table it;
  for (const char* name : {"alone", "a", "b"}) it.add(name);
  Values a = {1, 2}, b = {3, 4};
  const Handle handle = handle_of(0, GradientId(1));
  CHECK(it.table.of(handle).status().text() == "InvalidArgument: no submission gave the handle 1");
  CHECK_FALSE(it.table.of(handle_of(0, GradientId(3))));
  it.submit(1, a);
  CHECK_FALSE((*it.table.of(handle))->has_left(0));
  it.submit(2, b);
  CHECK((*it.table.of(handle))->has_left(0));
  CHECK((*it.table.of(handle))->inner(handle) == handle_of(0, GradientId(1)));
  CHECK(it.table.at(GradientId(0)).inner(handle_of(4, GradientId(0))) == handle_of(4, GradientId(0)));
}

TEST_CASE("group table: states have the members, and a result that is not finite names one") {
  Table it;
  for (const char* name : {"a", "b"}) it.add(name);
  SessionState state;
  state.gradients["g"] = {"int4", {1, 2, 3, 4}};
  it.table.split(state);
  CHECK(state.gradients.at("a").residual == Values{1, 2});
  CHECK(state.gradients.at("b").residual == Values{3, 4});
  const Result<SessionState> joined = it.table.join(state);
  REQUIRE(joined);
  CHECK(joined->gradients.at("g").residual == Values{1, 2, 3, 4});
  Values a = {1, 2}, b = {3, std::numeric_limits<float>::infinity()};
  it.submit(0, a);
  it.submit(1, b);
  StepResult result{0, false, "g"}, other{0, false, "alone"};
  REQUIRE(it.table.name_member(result));
  REQUIRE(it.table.name_member(other));
  CHECK(result.first_non_finite == "b");
  CHECK(other.first_non_finite == "alone");
}

TEST_CASE("group table: a state closes the groups that it has, and none if it is refused") {
  SessionState state;
  Table it;
  it.add("b");
  SECTION("refused") {
    state.gradients["b"] = {"elements 0 to 2 of 4 in group g: int4", {1, 2}};
    CHECK_THAT(it.table.join(state).status().text(),
               Catch::Contains("gradient b: the state is of elements 0 to 2 of 4 in group g"));
    CHECK(it.session.declared.empty());
    it.add("a");
    CHECK(it.session.declared == std::vector<std::string>{"g"});
  }
  SECTION("of other gradients") {
    state.gradients["alone"] = {"int4", {1, 2}};
    REQUIRE(it.table.join(state));
    REQUIRE(it.table.close_in(state));
    CHECK(it.session.declared.empty());
    it.add("a");
  }
  SECTION("of the members that there are") {
    state.gradients["b"] = {"elements 0 to 2 of 2 in group g: int4", {1, 2}};
    const Result<SessionState> joined = it.table.join(state);
    REQUIRE(joined);
    CHECK(joined->gradients.at("g").residual == Values{1, 2});
    REQUIRE(it.table.close_in(state));
    CHECK(it.session.declared == std::vector<std::string>{"g"});
    CHECK_FALSE(it.table.declare(spec("a")));
  }
}

TEST_CASE("group table: the end of a state that is not so many floats of each element is in the first member's part") {
  Table it;
  for (const char* name : {"a", "b"}) it.add(name);
  for (const Values& all : {Values{}, Values{1, 2, 3}, Values{1, 2, 3, 4, 5}, Values{1, 2, 3, 4, 5, 6, 7, 8, 9}}) {
    SessionState state;
    state.gradients["g"] = {"int4", all};
    it.table.split(state);
    CHECK(state.gradients.at("b").residual.size() == all.size() / 4 * 2);
    CHECK(state.gradients.at("a").residual.size() == all.size() / 4 * 2 + all.size() % 4);
    const Result<SessionState> joined = it.table.join(state);
    REQUIRE(joined);
    CHECK(joined->gradients.at("g").residual == all);
    state.gradients.at("a").residual.resize(all.size() / 4 * 2 + 4);
    CHECK_THAT(it.table.join(state).status().text(),
               Catch::Contains("gradient a: its state does not belong to those of the others in group g"));
  }
}

TEST_CASE("group table: a state whose part names elements of another member is refused by its name") {
  Table it;
  for (const char* name : {"a", "b"}) it.add(name);
  constexpr Elements kMany = Elements{0} - 1;
  using Range = GradientState::Range;
  for (const Range& range : {Range{1, 2}, Range{0, kMany}, Range{kMany, 1}}) {
    SessionState state;
    state.gradients["g"] = {"int4", {1, 2, 3, 4}};
    it.table.split(state);
    state.gradients.at("b").sent.push_back(range);
    CHECK(it.table.join(state).status().text() ==
          "InvalidArgument: gradient b: its state names " + std::to_string(range.count) + " elements from " +
              std::to_string(range.first) + " on, it has 2: this state is damaged");
  }
}

TEST_CASE("group table: a state of members that are not declared is refused") {
  Table it;
  SessionState state;
  state.gradients["a"] = {"int4", {1, 2}};
  CHECK_THAT(it.table.join(state).status().text(),
             Catch::Contains("gradient a: the state has it, and no gradient of group g is declared here"));
}

TEST_CASE("grouped step: a consensus and the end of the submissions are of one step") {
  SyncMode mode;
  mode.every = 2;  // of which the second exchanges something
  GroupedStep step(mode);
  CHECK_THAT(step.check_exchange().text(), Catch::Contains("InvalidArgument: step 0 exchanges nothing"));
  CHECK(step.exchanged() == Exchanged::kNothing);
  step.begin_consensus();
  CHECK(step.check_exchange().is_ok());
  CHECK(step.exchanged() == Exchanged::kParameters);
  step.end_submissions(plan_error("no such codec"));
  CHECK(step.started().text() == "PlanError: no such codec");
  CHECK(step.has_all_of(0));
  CHECK_FALSE(step.has_all_of(1));
  step.submits();
  CHECK_FALSE(step.has_all_of(0));
  step.end_submissions(plan_error("no such codec"));
  step.end();
  CHECK(step.number() == 1);
  CHECK(step.started().is_ok());
  CHECK_FALSE(step.has_all_of(1));
  CHECK(step.exchanged() == Exchanged::kDifferences);
  CHECK(step.check_exchange().is_ok());
  step.go_to(4);
  CHECK_THAT(step.check_exchange().text(), Catch::Contains("step 4 exchanges nothing"));
}
