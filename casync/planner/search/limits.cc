// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/limits.h"

#include <algorithm>

#include "casync/planner/decide.h"

namespace casync {
namespace {

bool may_be_chosen(const CodecLimits& limits, const Offers& offers, std::size_t at) {
  const CodecOffer& offer = offers.codecs[at];
  const bool within = offer.error <= (limits.is_open ? limits.max_error.value_or(1) : offers.max_error);
  if (limits.allowed.empty()) return within && at < offers.for_all;
  return within && std::find(limits.allowed.begin(), limits.allowed.end(), offer.choice) != limits.allowed.end();
}

/// The fields that are decided by themselves.
void take_fixed(const Plan& rules, const GradientSpec& gradient, int ranks, Limits& limits) {
  const Decision decision = decide(rules, gradient, ranks);
  const SaidFields said = said_fields(rules, gradient.name);
  if (said.strategy) limits.strategy = decision.strategy;
  if (said.partitions) limits.partitions = decision.partitions;
  if (said.priority) limits.priority = decision.priority;
  if (said.warm_up_steps) limits.warm_up_steps = decision.warm_up_steps;
  limits.warm_up_from = decision.warm_up_from;
}

}  // namespace

std::vector<Limits> limits_of(const Plan& rules, const Training& training, int ranks, const Offers& offers) {
  std::vector<Limits> made;
  for (const TrainedGradient& gradient : training.gradients) {
    Limits limits;
    const CodecLimits codec = codec_limits(rules, gradient.spec.name);
    limits.codec = codec.codec;
    limits.second_hop = codec.second_hop;
    for (std::size_t i = 0; i < offers.codecs.size() && !codec.codec; ++i) {
      if (may_be_chosen(codec, offers, i)) limits.offers.push_back(i);
    }
    take_fixed(rules, gradient.spec, ranks, limits);
    made.push_back(std::move(limits));
  }
  return made;
}

}  // namespace casync
