// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/group_faults.h"

#include <map>
#include <set>
#include <string_view>

#include "base/nearest.h"

namespace casync {
namespace {

/// The groups of gradients, by name: the first one where a gradient is in several.
using GroupOf = std::map<std::string_view, std::string_view>;

/// The fault of the gradients of `group`, which are added to `group_of`. "": none.
std::string fault_of_gradients(const GradientGroup& group, GroupOf& group_of) {
  if (group.gradients.empty()) return "a group without gradients, expected gradient: \"NAME\", any number";
  std::string fault;
  for (const std::string& name : group.gradients) {
    const auto [first, fresh] = group_of.emplace(name, group.name);
    if (!fault.empty()) continue;
    if (name.empty()) fault = "group " + backquoted(group.name) + ": a gradient without a name";
    if (!fresh) {
      fault = "group " + backquoted(group.name) + ": gradient " + backquoted(name) +
              " a second time, expected in one group";
      if (first->second != group.name) fault += " (it is in " + backquoted(first->second) + ")";
    }
  }
  return fault;
}

std::string fault_of_limits(const GradientGroup& group) {
  if (!group.choice.max_error && group.choice.allowed.empty()) return "";
  return "group " + backquoted(group.name) +
         ": max_error or allow, expected codec: the planner chooses for single gradients";
}

}  // namespace

std::vector<GroupFault> faults_of_groups(const Plan& plan) {
  std::vector<GroupFault> faults;
  GroupOf group_of;
  std::set<std::string_view> names;
  for (std::size_t at = 0; at < plan.groups.size(); ++at) {
    const GradientGroup& group = plan.groups[at];
    std::string fault = fault_of_gradients(group, group_of);
    if (group.name.empty()) {
      fault = "a group without a name, expected name: \"NAME\"";
    } else if (!names.insert(group.name).second) {
      fault = "group " + backquoted(group.name) + " a second time, expected one of this name";
    }
    if (fault.empty()) fault = fault_of_limits(group);
    if (!fault.empty()) faults.push_back({false, at, fault});
  }
  for (std::size_t at = 0; at < plan.groups.size(); ++at) {
    if (!group_of.contains(plan.groups[at].name)) continue;
    faults.push_back(
        {false, at, "group " + backquoted(plan.groups[at].name) + " has the name of a gradient in a group"});
  }
  for (std::size_t at = 0; at < plan.gradients.size(); ++at) {
    const std::string& name = plan.gradients[at].name;
    if (const auto in = group_of.find(name); in != group_of.end()) {
      faults.push_back({true, at,
                        "an entry of " + backquoted(name) + ", which is in group " + backquoted(in->second) +
                            ": what holds for the group is written there"});
    } else if (names.contains(name)) {
      faults.push_back(
          {true, at, "an entry of " + backquoted(name) + ", which is a group: what holds for it is written there"});
    }
  }
  return faults;
}

}  // namespace casync
