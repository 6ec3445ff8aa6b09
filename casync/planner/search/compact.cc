// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/compact.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "casync/strategies/strategy.h"

namespace casync {
namespace {

/// Gradients of which a plan says the same.
struct Group {
  Choice choice;
  std::set<std::size_t> gradients;
  double bytes = 0;
  bool are_default_bytes = false;  ///< a choice that says no partitions means those of kDefaultPartitionBytes

  bool says_partitions() const { return choice.partitions || choice.partition_bytes; }
};

constexpr Bytes kLeastStated = 16_KiB, kMostStated = 64_MiB;

/// The decision's fields as a choice, without the number of partitions. No step is compressed up to `from_step`, that
/// of the plan's mode, whatever a choice says.
Choice choice_of(const Decision& decision, const GradientSpec& spec, std::uint32_t from_step) {
  Choice choice;
  choice.codec = decision.codec;
  if (!(decision.second_hop == decision.codec)) choice.second_hop = decision.second_hop;
  choice.strategy = decision.strategy;
  if (decision.priority != spec.priority) choice.priority = decision.priority;
  if (decision.warm_up_steps > from_step) choice.warm_up_steps = decision.warm_up_steps;
  choice.warm_up_from = decision.warm_up_from;
  if (decision.servers.count > 0) choice.servers = decision.servers;
  if (decision.residual_memory != ResidualMemory::kTwoBuffers) choice.residual_memory = decision.residual_memory;
  return choice;
}

std::string key_of(const Choice& choice) {
  const auto number = [](const auto& value) { return value ? std::to_string(*value) : std::string("-"); };
  std::string key = text_of(*choice.codec) + " " + (choice.second_hop ? text_of(*choice.second_hop) : "-");
  key += " " + std::to_string(static_cast<int>(*choice.strategy)) + " " + number(choice.priority) + " " +
         number(choice.warm_up_steps) + " " + number(choice.partition_bytes) + " " + number(choice.partitions);
  if (choice.residual_memory) key += " " + std::to_string(static_cast<int>(*choice.residual_memory));
  if (choice.servers) key += " " + text_of(*choice.servers);
  return key + (choice.warm_up_from ? choice.warm_up_from->parameter + std::to_string(choice.warm_up_from->value) : "");
}

/// Splits gradients that have everything else in common by what says their partitions: one size for as many as
/// possible, the usual one if it does.
class Partitions {
 public:
  Partitions(const std::vector<Decision>& decisions, std::span<const GradientSpec> gradients, int ranks,
             const PayloadBits& bits_of)
      : decisions_(decisions), gradients_(gradients), ranks_(ranks), bits_of_(bits_of) {}

  std::vector<Group> split(Group all) const {
    std::vector<Group> groups;
    while (!all.gradients.empty()) {
      Group one = largest(all);
      for (const std::size_t g : one.gradients) all.gradients.erase(g);
      groups.push_back(std::move(one));
    }
    return groups;
  }

 private:
  Group largest(const Group& all) const {
    Group best = usual(all);
    for (Bytes bytes = kLeastStated; bytes <= kMostStated; bytes *= 2) {
      Group other = of_size(all, bytes);
      if (other.gradients.size() > best.gradients.size()) best = std::move(other);
    }
    std::map<int, std::size_t> counted;  // gradients by their number of partitions
    for (const std::size_t g : all.gradients) ++counted[decisions_[g].partitions];
    std::size_t most = best.gradients.size();
    std::optional<int> count;  // of equal ones that of the first gradient
    for (const std::size_t g : all.gradients) {
      const int partitions = decisions_[g].partitions;
      if (counted[partitions] > most) most = counted[partitions], count = partitions;
    }
    return count ? of_count(all, *count) : best;
  }
  Group usual(const Group& all) const {
    Group group{all.choice, {}};
    for (const std::size_t g : all.gradients) {
      const int partitions = default_partitions(decisions_[g], gradients_[g], ranks_, bits_of_);
      if (decisions_[g].partitions == partitions) group.gradients.insert(g);
    }
    group.are_default_bytes = of_size(group, kDefaultPartitionBytes).gradients == group.gradients;
    return group;
  }
  Group of_size(const Group& all, Bytes bytes) const {
    Group group{all.choice, {}};
    group.choice.partition_bytes = bytes;
    for (const std::size_t g : all.gradients) {
      const int owners = owner_count(decisions_[g].servers, ranks_);
      if (choose_partitions(gradients_[g].bytes(), ranks_, owners, bytes) == decisions_[g].partitions) {
        group.gradients.insert(g);
      }
    }
    return group;
  }
  Group of_count(const Group& all, int count) const {
    Group group{all.choice, {}};
    group.choice.partitions = count;
    for (const std::size_t g : all.gradients) {
      if (decisions_[g].partitions == count) group.gradients.insert(g);
    }
    return group;
  }

  const std::vector<Decision>& decisions_;
  std::span<const GradientSpec> gradients_;
  int ranks_;
  const PayloadBits& bits_of_;
};

/// `name` with stars in the place of numbers: `layers.*.norm.weight`.
std::string without_numbers(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) {
      pattern += c;
    } else if (pattern.empty() || pattern.back() != '*') {
      pattern += '*';
    }
  }
  return pattern;
}

/// Patterns that a person might write for this name, the wide ones first.
std::vector<std::string> patterns_of(const std::string& name) {
  std::vector<std::string> patterns;
  for (std::size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0; dot = name.rfind('.', dot - 1)) {
    patterns.push_back("*" + name.substr(dot));
    if (patterns.back() != without_numbers(patterns.back())) patterns.push_back(without_numbers(patterns.back()));
  }
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    patterns.push_back(name.substr(0, dot + 1) + "*");
  }
  patterns.push_back(without_numbers(name));
  return patterns;
}

/// Rules in their order, found one by one: the pattern that fits most gradients of one group, after rules for the few
/// that it fits besides.
class RuleFinder {
 public:
  RuleFinder(std::vector<Group> groups, std::span<const GradientSpec> gradients)
      : groups_(std::move(groups)), gradients_(gradients), group_of_(gradients.size()), open_(gradients.size(), true) {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      for (const std::size_t g : groups_[i].gradients) group_of_[g] = i;
    }
  }

  /// `groups` begin with the default's.
  Plan find(Plan plan) {
    plan.defaults = groups_.front().choice;
    plan.rules.clear();
    plan.gradients.clear();
    // A priority of its own and servers are fields that no rule can take back, and partitions only by their bytes.
    const bool partitions =
        groups_.front().says_partitions() && std::any_of(groups_.begin(), groups_.end(), [](const Group& group) {
          return !group.says_partitions() && !group.are_default_bytes;
        });
    const bool last_rule = plan.defaults.priority || plan.defaults.servers || partitions;
    if (last_rule) plan.defaults = {};
    while (others_open()) {
      const auto [pattern, group] = widest();
      if (pattern.empty()) break;
      for (std::size_t g = 0; g < open_.size(); ++g) {
        if (!open_[g] || !matches(pattern, gradients_[g].name)) continue;
        if (group_of_[g] != group) plan.rules.push_back({gradients_[g].name, beside(plan.defaults, group_of_[g])});
        open_[g] = false;
      }
      plan.rules.push_back({pattern, beside(plan.defaults, group)});
    }
    if (last_rule) plan.rules.push_back({"*", groups_.front().choice});
    return plan;
  }

 private:
  /// A group's choice that takes back what the default says besides.
  Choice beside(const Choice& defaults, std::size_t group) const {
    Choice choice = groups_[group].choice;
    if (!groups_[group].says_partitions() && (defaults.partitions || defaults.partition_bytes)) {
      choice.partition_bytes = kDefaultPartitionBytes;
    }
    if (!choice.warm_up_steps && defaults.warm_up_steps) choice.warm_up_steps = 0;
    if (!choice.residual_memory && defaults.residual_memory) choice.residual_memory = ResidualMemory::kTwoBuffers;
    return choice;
  }

  bool others_open() const {
    for (std::size_t g = 0; g < open_.size(); ++g) {
      if (open_[g] && group_of_[g] != 0) return true;
    }
    return false;
  }

  std::pair<std::string, std::size_t> widest() const {
    std::string best;
    double most = 0;
    std::size_t group = 0;
    std::set<std::string> tried;
    for (std::size_t g = 0; g < open_.size(); ++g) {
      if (!open_[g] || group_of_[g] == 0) continue;
      std::vector<std::string> patterns = patterns_of(gradients_[g].name);
      patterns.push_back(gradients_[g].name);
      for (const std::string& pattern : patterns) {
        if (!tried.insert(pattern).second) continue;
        const double each = by_rule(pattern, group_of_[g]);
        if (each > most) best = pattern, most = each, group = group_of_[g];
      }
    }
    return {best, group};
  }

  /// Number of open gradients of its group that a pattern decides, per rule needed: its own rule, and one for each
  /// gradient of another group that it fits, too. 0 if it fits none.
  double by_rule(const std::string& pattern, std::size_t group) const {
    double fits = 0, others = 0;
    for (std::size_t g = 0; g < open_.size(); ++g) {
      if (!open_[g] || !matches(pattern, gradients_[g].name)) continue;
      ++(group_of_[g] == group ? fits : others);
    }
    return fits / (1 + others);
  }

  const std::vector<Group> groups_;
  std::span<const GradientSpec> gradients_;
  std::vector<std::size_t> group_of_;
  std::vector<bool> open_;
};

std::string share(std::size_t count, double bytes) {
  char text[64];
  std::snprintf(text, sizeof text, "%zu gradient%s, %.3g MB", count, count == 1 ? "" : "s", bytes / 1e6);
  return text;
}

}  // namespace

Plan compacted(const Plan& plan, std::span<const GradientSpec> gradients, int ranks, const PayloadBits& bits_of) {
  std::vector<Decision> decisions;
  std::map<std::string, Group> alike;
  for (std::size_t g = 0; g < gradients.size(); ++g) {
    decisions.push_back(decide(plan, gradients[g], ranks, bits_of));
    const Choice choice = choice_of(decisions.back(), gradients[g], plan.mode.from_step);
    Group& group = alike[key_of(choice)];
    group.choice = choice;
    group.gradients.insert(g);
  }
  std::vector<Group> groups;
  const Partitions partitions(decisions, gradients, ranks, bits_of);
  for (const auto& [key, group] : alike) {
    for (Group& one : partitions.split(group)) {
      for (const std::size_t g : one.gradients) one.bytes += static_cast<double>(gradients[g].bytes());
      groups.push_back(std::move(one));
    }
  }
  if (groups.empty()) return plan;
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.bytes > b.bytes; });
  Plan made = RuleFinder(std::move(groups), gradients).find(plan);
  // Names that patterns cannot tell apart, as those with stars of their own, leave the plan as it was.
  for (std::size_t g = 0; g < gradients.size(); ++g) {
    if (!(decide(made, gradients[g], ranks, bits_of) == decisions[g])) return plan;
  }
  return made;
}

std::vector<std::string> shares_of(const Plan& plan, std::span<const GradientSpec> gradients) {
  std::vector<std::size_t> count(plan.rules.size() + 1);
  std::vector<double> bytes(plan.rules.size() + 1);
  for (const GradientSpec& gradient : gradients) {
    std::size_t rule = 0;
    while (rule < plan.rules.size() && !matches(plan.rules[rule].match, gradient.name)) ++rule;
    ++count[rule];
    bytes[rule] += static_cast<double>(gradient.bytes());
  }
  std::vector<std::string> shares;
  for (std::size_t i = 0; i < count.size(); ++i) shares.push_back(share(count[i], bytes[i]));
  return shares;
}

}  // namespace casync
