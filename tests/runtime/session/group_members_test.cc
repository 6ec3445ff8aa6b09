// SPDX-License-Identifier: Apache-2.0
//
// The members of a plan's group, and the whole that they make.
#include "runtime/session/group_members.h"

#include <catch2/catch.hpp>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

GradientSpec spec(const std::string& name, std::int64_t rows, int priority = 0) {
  return {name, DType::kFloat32, {rows, 2}, priority};
}

/// A group of three by the plan, of which "c" and "a" have been declared, in this order.
struct Two {
  Two() {
    members.add(2, spec("c", 3, 1));
    members.add(0, spec("a", 1, 4));
  }
  GroupMembers members{{"g", {"a", "b", "c"}, {}}};
};

}  // namespace

TEST_CASE("group members: the whole has those that are declared, in the plan's order, as urgent as the first") {
  Two it;
  CHECK(it.members.declared() == 2);
  CHECK_FALSE(it.members.has_all());
  CHECK_FALSE(it.members.has(1));
  const GradientSpec whole = it.members.spec();
  CHECK(whole.name == "g");
  CHECK(whole.shape == std::vector<std::int64_t>{8});
  CHECK(whole.priority == 1);
  REQUIRE(whole.members.size() == 2);
  CHECK(whole.members[0].name == "a");
  CHECK(whole.members[1].name == "c");
  it.members.add(1, spec("b", 2, 9));
  CHECK(it.members.has_all());
  CHECK(it.members.spec().shape == std::vector<std::int64_t>{12});
}

TEST_CASE("group members: once it is closed each has its place in the memory of the whole") {
  Two it;
  it.members.close();
  CHECK(it.members.is_closed());
  CHECK(it.members.whole().shape == std::vector<std::int64_t>{8});
  CHECK(it.members.offset_of(0) == 0);
  CHECK(it.members.offset_of(2) == 8);
}

TEST_CASE("group members: a declaration that does not fit is refused, with the reason") {
  Two it;
  CHECK(it.members.check(1, spec("b", 2)).text() == "OK");
  CHECK(it.members.check(0, spec("a", 1, 4)).text() == "OK");
  CHECK(it.members.check(0, spec("a", 2, 4)).text() ==
        "InvalidArgument: gradient a: it was declared earlier with another shape, type or priority");
  CHECK_FALSE(it.members.check(0, spec("a", 1, 5)));
  CHECK_FALSE(it.members.check(1, spec("b", -1)));
  GradientSpec half = spec("b", 2);
  half.dtype = DType::kFloat16;
  CHECK(it.members.check(1, half).text() ==
        "InvalidArgument: gradient b: float16, and a, which is in group g with it, is float32: a group has one type");
  it.members.close();
  CHECK(it.members.check(0, spec("a", 1, 4)).text() == "OK");
  CHECK(it.members.check(1, spec("b", 2)).text() ==
        "InvalidArgument: gradient b: group g has been sent, or its state was loaded, without it: declare all of a "
        "group ahead of its state and by the end of the first step");
}

TEST_CASE("group members: a state that has one where none is declared is refused") {
  const GroupMembers members({"g", {"a", "b"}, {}});
  SessionState state;
  state.gradients["alone"] = {"int4", {1, 2}};
  CHECK(members.check_none_in(state).is_ok());
  state.gradients["b"] = {"int4", {1, 2}};
  CHECK(members.check_none_in(state).text() ==
        "InvalidArgument: gradient b: the state has it, and no gradient of group g is declared here: declare them, "
        "then load the state");
}
