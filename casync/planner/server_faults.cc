// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/server_faults.h"

#include <algorithm>

#include "casync/planner/decide.h"
#include "casync/strategies/strategy.h"

namespace casync {
namespace {

/// A source's strategy, and the words for it.
struct Weaker {
  std::optional<StrategyKind> strategy;
  std::string of;
};

Weaker of_default(const Plan& plan) { return {plan.defaults.strategy, "the default's strategy"}; }

Weaker of_rule(const Plan& plan, const std::string& gradient) {
  const auto rule =
      std::find_if(plan.rules.begin(), plan.rules.end(), [&](const Rule& r) { return matches(r.match, gradient); });
  if (rule == plan.rules.end() || !rule->choice.strategy) return of_default(plan);
  return {rule->choice.strategy, "the strategy of rule `" + rule->match + "`"};
}

bool has_servers(std::optional<StrategyKind> strategy) {
  return strategy.value_or(StrategyKind::kPs) == StrategyKind::kPs;
}

std::string fault_of(const Choice& choice, const Weaker& weaker, std::optional<int> ranks) {
  if (!choice.servers) return "";
  if (!has_servers(choice.strategy)) {
    return "servers beside strategy " + std::string(name_of(*choice.strategy)) + ", expected strategy ps";
  }
  if (!choice.strategy && !has_servers(weaker.strategy)) {
    return "servers, and " + weaker.of + " is " + std::string(name_of(*weaker.strategy)) +
           ", expected strategy: ps beside them";
  }
  const Servers& servers = *choice.servers;
  if (!ranks || servers.count < *ranks || (servers.count == *ranks && !servers.dedicated)) return "";
  return "servers " + std::to_string(servers.count) +
         (servers.dedicated ? " and dedicated, expected fewer than" : ", expected no more than") + " ranks (" +
         std::to_string(*ranks) + ")";
}

}  // namespace

std::string fault_of_servers(const Plan& plan, const Choice& choice) {
  return fault_of(choice, of_default(plan), plan.world.ranks);
}

std::string fault_of_servers(const Plan& plan, const Entry& entry) {
  if (!entry.choice.servers) return "";
  return fault_of(entry.choice, of_rule(plan, entry.name), plan.world.ranks);
}

}  // namespace casync
