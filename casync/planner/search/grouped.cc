// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/grouped.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

namespace casync {
namespace {

/// The group's gradient; one without members if the training has none of them.
Result<TrainedGradient> whole_of(const GradientGroup& group,
                                 const std::map<std::string_view, const TrainedGradient*>& gradients) {
  TrainedGradient whole;
  whole.spec.name = group.name;
  Elements elements = 0;
  const TrainedGradient* first = nullptr;
  for (const std::string& name : group.gradients) {
    const auto found = gradients.find(name);
    if (found == gradients.end()) continue;
    const TrainedGradient& one = *found->second;
    if (one.spec.scattered) {
      return plan_error("group `" + group.name + "`: `" + name +
                        "` is scattered, and members have no shards of their own: leave it out");
    }
    if (first == nullptr) {
      first = &one;
      whole.ready_s = one.ready_s;
      whole.need_s = one.need_s;
      whole.spec.dtype = one.spec.dtype;
      whole.spec.priority = one.spec.priority;
    } else if (one.spec.dtype != first->spec.dtype) {
      return plan_error("group `" + group.name + "`: `" + name + "` is " + std::string(name_of(one.spec.dtype)) +
                        ", and `" + first->spec.name + "` is " + std::string(name_of(first->spec.dtype)) +
                        ": a group has one type");
    }
    whole.ready_s = std::max(whole.ready_s, one.ready_s);
    whole.need_s = std::min(whole.need_s, one.need_s);
    whole.spec.priority = std::min(whole.spec.priority, one.spec.priority);
    whole.spec.members.push_back({name, one.spec.shape});
    elements += one.spec.elements();
  }
  whole.spec.shape = {static_cast<std::int64_t>(elements)};
  return whole;
}

/// Positions in the order in which the gradients are ready.
std::vector<std::size_t> by_ready(const Training& training) {
  std::vector<std::size_t> order(training.gradients.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return training.gradients[a].ready_s < training.gradients[b].ready_s;
  });
  return order;
}

}  // namespace

Result<GroupedTraining> grouped(const Plan& plan, const Training& training) {
  if (plan.groups.empty()) return GroupedTraining{training, {}};
  std::map<std::string_view, const TrainedGradient*> gradients;
  for (const TrainedGradient& gradient : training.gradients) gradients.emplace(gradient.spec.name, &gradient);
  GroupedTraining made{training, {}};
  made.training.gradients.clear();
  std::map<std::string_view, std::size_t> group_of;
  std::vector<TrainedGradient> wholes;
  for (const GradientGroup& group : plan.groups) {
    if (gradients.contains(group.name)) {
      return plan_error("group `" + group.name + "` has the name of a gradient: rename the group");
    }
    Result<TrainedGradient> whole = whole_of(group, gradients);
    if (!whole) return whole.status();
    if (whole->spec.members.empty()) made.absent.push_back(group.name);
    for (const std::string& name : group.gradients) group_of.emplace(name, wholes.size());
    wholes.push_back(std::move(*whole));
  }
  std::vector<bool> taken(wholes.size());
  for (const std::size_t g : by_ready(training)) {
    const TrainedGradient& one = training.gradients[g];
    const auto group = group_of.find(one.spec.name);
    if (group == group_of.end()) {
      made.training.gradients.push_back(one);
    } else if (!taken[group->second]) {
      taken[group->second] = true;
      made.training.gradients.push_back(wholes[group->second]);
    }
  }
  std::stable_sort(made.training.gradients.begin(), made.training.gradients.end(),
                   [](const TrainedGradient& a, const TrainedGradient& b) { return a.ready_s < b.ready_s; });
  return made;
}

}  // namespace casync
