// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "casync/planner/decide.h"

namespace casync::test {
namespace {

std::vector<std::string> remarks_on(const Plan& plan, const std::vector<std::string>& names) {
  std::vector<GradientSpec> gradients;
  for (const std::string& name : names) gradients.push_back({.name = name});
  return remarks(plan, gradients, Topology{4, {0, 0, 1, 1}});
}

Plan with_rules(const std::vector<std::string>& patterns) {
  Plan plan;
  for (const std::string& pattern : patterns) plan.rules.push_back({pattern, {}});
  return plan;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("remarks: none on a plan that fits") {
  Plan plan = with_rules({"*.bias", "*"});
  plan.gradients = {{"a.bias", {}}};
  plan.world.ranks = 4;
  CHECK(remarks_on(plan, {"a.bias", "a.weight"}).empty());
  CHECK(remarks_on({}, {}).empty());
}

TEST_CASE("remarks: a pattern that matches nothing") {
  CHECK(remarks_on(with_rules({"*", "emb*"}), {"a", "b"}) == Lines{"rule 2 `emb*` matches no gradient"});
}

TEST_CASE("remarks: a rule that one earlier rule always hides") {
  CHECK(remarks_on(with_rules({"*", "*.bias"}), {"a.bias", "b.bias", "c"}) ==
        Lines{"rule 2 `*.bias` never applies: what it matches (2 gradients) is taken by rule 1 `*` before it"});
}

TEST_CASE("remarks: a rule that several earlier rules hide together") {
  CHECK(remarks_on(with_rules({"a*", "b*", "?"}), {"a", "b"}) ==
        Lines{"rule 3 `?` never applies: what it matches (2 gradients) is taken by rule 1 `a*`, 2 `b*` before it"});
}

TEST_CASE("remarks: a rule that is hidden for some gradients only is worth no word") {
  CHECK(remarks_on(with_rules({"a*", "?"}), {"a", "b"}).empty());
}

TEST_CASE("remarks: an entry that names nothing, with what was probably meant") {
  Plan plan;
  plan.gradients = {{"fc1.wieght", {}}, {"zzzzzzzz", {}}};
  CHECK(remarks_on(plan, {"fc1.weight"}) == Lines{"entry `fc1.wieght` names no gradient (did you mean `fc1.weight`?)",
                                                  "entry `zzzzzzzz` names no gradient"});
}

TEST_CASE("remarks: a number of ranks the plan was not made for") {
  Plan plan;
  plan.world.ranks = 8;
  CHECK(remarks_on(plan, {}) == Lines{"the plan was made for 8 ranks, and this group has 4"});
}

TEST_CASE("remarks: a number of nodes the plan was not made for") {
  Plan plan;
  plan.world.nodes = 1;
  CHECK(remarks_on(plan, {}) == Lines{"the plan was made for 1 node, and this group has 2"});
  CHECK(remarks(plan, {}, Topology::flat(4)).empty());
  plan.world.nodes = 2;
  CHECK(remarks_on(plan, {}).empty());
}

TEST_CASE("remarks: rules first, then entries, then the world") {
  Plan plan = with_rules({"nothing"});
  plan.gradients = {{"none", {}}};
  plan.world.ranks = 1;
  plan.world.nodes = 1;
  const Lines lines = remarks_on(plan, {"a"});
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].find("rule 1") == 0);
  CHECK(lines[1].find("entry") == 0);
  CHECK(lines[2].find("the plan") == 0);
}

}  // namespace casync::test
