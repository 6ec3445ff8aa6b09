// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/limits.h"

#include <algorithm>

#include "casync/planner/decide.h"

namespace casync {
namespace {

/// Returns true if gradient number `gradient` may have codec number `at` of the offers.
bool may_be_chosen(const CodecLimits& limits, const Offers& offers, std::size_t at, std::size_t gradient) {
  const CodecOffer& offer = offers.codecs[at];
  const double budget = limits.is_open ? limits.max_error.value_or(kAnyError) : offers.max_error;
  const double most = limits.is_open ? kAnyError : offer.most_error.value_or(kAnyError);
  const bool within = offer.error_of(gradient) <= std::min(budget, most);
  if (limits.allowed.empty()) return within && at < offers.for_all;
  return within && std::find(limits.allowed.begin(), limits.allowed.end(), offer.choice) != limits.allowed.end();
}

/// The fields that are decided by themselves.
void take_fixed(const Plan& rules, const GradientSpec& gradient, int ranks, Limits& limits) {
  const auto unasked = [](const CodecChoice&) { return CodecTraits{}.bits_per_element; };  // partitions count if said
  const Decision decision = decide(rules, gradient, ranks, unasked);
  const SaidFields said = said_fields(rules, gradient.name);
  if (said.strategy) limits.strategy = decision.strategy;
  if (said.servers && decision.strategy == StrategyKind::kPs) {
    limits.strategy = decision.strategy;
    limits.servers = decision.servers;
  }
  if (said.partitions) limits.partitions = decision.partitions;
  if (said.priority) limits.priority = decision.priority;
  if (said.warm_up_steps) limits.warm_up_steps = decision.warm_up_steps;
  if (said.residual_memory) limits.residual_memory = decision.residual_memory;
  limits.warm_up_from = decision.warm_up_from;
}

/// The loss that a gradient may have on each hop, if any source limits it.
std::optional<double> budget_of(const CodecLimits& limits, const Offers& offers) {
  if (limits.max_error) return limits.max_error;
  return limits.is_open || limits.codec || offers.max_error == kAnyError ? std::nullopt
                                                                         : std::optional(offers.max_error);
}

}  // namespace

std::vector<Limits> limits_of(const Plan& rules, const Training& training, int ranks, const Offers& offers) {
  std::vector<Limits> made;
  for (std::size_t g = 0; g < training.gradients.size(); ++g) {
    const GradientSpec& gradient = training.gradients[g].spec;
    Limits limits;
    const CodecLimits codec = codec_limits(rules, gradient.name);
    limits.codec = codec.codec;
    limits.second_hop = codec.second_hop;
    limits.max_error = budget_of(codec, offers);
    for (std::size_t i = 0; i < offers.codecs.size() && !codec.codec; ++i) {
      if (may_be_chosen(codec, offers, i, g)) limits.offers.push_back(i);
    }
    take_fixed(rules, gradient, ranks, limits);
    made.push_back(std::move(limits));
  }
  return made;
}

Status check_searched_mode(const SyncMode& mode) {
  if (!mode.is_gossip() && !mode.is_asynchronous()) return Status::ok();
  const std::string name = mode.is_gossip() ? "gossip" : "asynchronous";
  return plan_error("no plan is searched for `" + name +
                    "`: no training has measured what it costs in loss; leave it " +
                    "out of the rules and add it to the plan, whose step `casync simulate` predicts");
}

Status check_limits(const PlanRequest& request) {
  const std::size_t gradients = request.training.gradients.size();
  if (!request.limits.empty() && request.limits.size() != gradients) {
    return invalid_argument("limits of " + std::to_string(request.limits.size()) + " gradients, and there are " +
                            std::to_string(gradients));
  }
  for (std::size_t g = 0; g < request.limits.size(); ++g) {
    const Limits& limits = request.limits[g];
    const Status status = check_servers(limits.servers.value_or(Servers{}), limits.strategy.value_or(StrategyKind::kPs),
                                        request.topology.ranks);
    if (!status)
      return Status(status.code(), "gradient " + request.training.gradients[g].spec.name + ": " + status.message());
  }
  return Status::ok();
}

bool may_merge_again(const PlanRequest& request, const Limits& limits, std::size_t at, const CodecChoice& codec,
                     const CodecTraits& traits, StrategyKind strategy) {
  const double times = encodings_on_the_way(strategy, request.topology.ranks, traits);
  if (times == 1 || (limits.strategy && !limits.max_error)) return true;
  const auto offer = std::find_if(request.codecs.begin(), request.codecs.end(),
                                  [&](const CodecOffer& each) { return each.choice == codec; });
  return offer != request.codecs.end() && times * offer->error_of(at) <= limits.max_error.value_or(kUnsaidError);
}

bool allows(const Limits& limits, const std::vector<CodecOffer>& codecs, const Decision& decision) {
  const auto is_offered = [&](const CodecChoice& choice) {
    return choice.name == "none" || std::any_of(limits.offers.begin(), limits.offers.end(),
                                                [&](std::size_t i) { return codecs[i].choice == choice; });
  };
  const std::optional<CodecChoice> second = limits.second_hop ? limits.second_hop : limits.codec;
  const bool first_hop = limits.codec ? decision.codec == *limits.codec : is_offered(decision.codec);
  const bool second_hop = second ? decision.second_hop == *second : is_offered(decision.second_hop);
  return first_hop && second_hop && decision.strategy == limits.strategy.value_or(decision.strategy) &&
         decision.servers == limits.servers.value_or(decision.servers) &&
         decision.partitions == limits.partitions.value_or(decision.partitions) &&
         decision.priority == limits.priority.value_or(decision.priority) &&
         decision.warm_up_steps == limits.warm_up_steps.value_or(decision.warm_up_steps);
}

}  // namespace casync
