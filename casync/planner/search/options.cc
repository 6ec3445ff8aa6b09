// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/options.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>

#include "casync/planner/decide.h"
#include "casync/planner/search/limits.h"
#include "casync/simulator/rounds.h"

namespace casync {
namespace {

constexpr Bytes kLeastPartition = 16_KiB;  // of less, what a message costs is all that it costs
constexpr int kMostRounds = 16;

std::vector<int> partition_counts(const GradientSpec& spec, int owners) {
  const auto most = static_cast<int>(std::clamp<Bytes>(spec.bytes() / kLeastPartition, 1, kMostPartitions));
  std::set<int> counts{1};
  for (int count = 2; count <= std::min(most, owners); count *= 2) counts.insert(count);
  for (int rounds = 1; rounds <= kMostRounds; rounds *= 2) {
    if (owners <= most / rounds) counts.insert(rounds * owners);
  }
  return {counts.begin(), counts.end()};
}

struct Hops {
  CodecChoice first, second;
  CodecTraits traits;   ///< of the first
  bool rounds = false;  ///< a codec that exchanges: it stands for both
};

/// Returns true if a codec that can exchange does so for this gradient.
Result<bool> exchanges(Evaluator& evaluator, const Hops& way, const GradientSpec& spec) {
  Decision decision{way.first, way.second, StrategyKind::kPs, 1, 0, 0};
  const PlanRequest& request = evaluator.request();
  const auto rounds = rounds_of(decision, spec, request.topology.ranks, request.profile,
                                [&](const CodecChoice& choice) { return evaluator.facts(choice); });
  if (!rounds) return rounds.status();
  return rounds->has_value();
}

Result<Hops> way(Evaluator& evaluator, const CodecChoice& first, const CodecChoice& second) {
  const Result<CodecFacts> facts = evaluator.facts(first);
  if (!facts) return facts.status();
  return Hops{first, second, facts->traits, facts->rounds != nullptr};
}

/// The codecs that gradient `at` may have: those that encode, and those that exchange.
Result<std::vector<CodecOffer>> offers(Evaluator& evaluator, std::size_t at, bool that_exchange) {
  std::vector<CodecOffer> made;
  for (const std::size_t i : evaluator.limits(at).offers) {
    const CodecOffer& offer = evaluator.request().codecs[i];
    const Result<CodecFacts> facts = evaluator.facts(offer.choice);
    if (!facts) return facts.status();
    if ((facts->rounds != nullptr) == that_exchange) made.push_back(offer);
  }
  return made;
}

/// Pairs of codecs for both hops: `none`; each codec; each codec with a finer one on the way back; `none` with each on
/// the way back. Only those within the limits.
Result<std::vector<Hops>> hops(Evaluator& evaluator, std::size_t at) {
  const Limits& limits = evaluator.limits(at);
  std::vector<std::pair<CodecChoice, CodecChoice>> pairs;
  const CodecChoice none;
  const Result<std::vector<CodecOffer>> encoding = offers(evaluator, at, false),
                                        exchanging = offers(evaluator, at, true);
  if (!encoding) return encoding.status();
  if (!exchanging) return exchanging.status();
  if (limits.codec) {
    pairs.emplace_back(*limits.codec, limits.second_hop.value_or(*limits.codec));
  } else if (limits.second_hop) {
    pairs.emplace_back(none, *limits.second_hop);
    for (const CodecOffer& offer : *encoding) pairs.emplace_back(offer.choice, *limits.second_hop);
  } else {
    pairs.emplace_back(none, none);
    for (const CodecOffer& offer : *encoding) {
      pairs.emplace_back(offer.choice, offer.choice);
      for (const CodecOffer& finer : *encoding) {
        if (finer.error < offer.error) pairs.emplace_back(offer.choice, finer.choice);
      }
    }
    for (const CodecOffer& offer : *exchanging) pairs.emplace_back(offer.choice, offer.choice);
    for (const CodecOffer& offer : *encoding) pairs.emplace_back(none, offer.choice);
  }
  std::vector<Hops> made;
  for (const auto& [first, second] : pairs) {
    Result<Hops> one = way(evaluator, first, second);
    if (!one) return one.status();
    made.push_back(std::move(*one));
  }
  return made;
}

/// The strategies worth trying with these codecs for gradient `at`.
std::vector<StrategyKind> worth_trying(Evaluator& evaluator, std::size_t at, const Hops& hops) {
  if (evaluator.request().training.gradients[at].spec.scattered) return {StrategyKind::kPs};  // it has one way
  const Topology& topology = evaluator.request().topology;
  const Limits& limits = evaluator.limits(at);
  std::vector<StrategyKind> able;
  for (const Strategy& strategy : strategies()) {
    if (strategy.kind != limits.strategy.value_or(strategy.kind)) continue;
    if (!strategy.second_hop && !(hops.first == hops.second)) continue;
    // With codes that travel side by side these send more bytes than ps; without levels those are the same as another.
    const bool in_vain =
        (strategy.encodings != nullptr && hops.traits.coded_terms) || (strategy.levels && !has_levels(topology));
    if (in_vain && !limits.strategy) continue;
    if (!may_merge_again(evaluator.request(), limits, at, hops.first, hops.traits, strategy.kind)) continue;
    able.push_back(strategy.kind);
  }
  return able;
}

/// Returns true if by trainings this pair takes more steps than the request allows. Codecs that are fixed are taken.
bool takes_too_many_steps(const PlanRequest& request, const Limits& limits, const Hops& way) {
  return !limits.codec && request.more_steps && request.more_steps(way.first, way.second) > request.most_more_steps;
}

/// The error if no option is left: the fixed second hop takes too many steps with every codec, or the words of a
/// session about the fixed fields.
Status nothing_left(Evaluator& evaluator, std::size_t at, const std::vector<Hops>& ways) {
  const Limits& limits = evaluator.limits(at);
  const PlanRequest& request = evaluator.request();
  const auto is_too_many = [&](const Hops& way) { return takes_too_many_steps(request, limits, way); };
  if (limits.second_hop && std::all_of(ways.begin(), ways.end(), is_too_many)) {
    char times[32];
    std::snprintf(times, sizeof times, "%.3g", 1 + request.most_more_steps);
    return plan_error("gradient " + request.training.gradients[at].spec.name + ": second_hop `" +
                      text_of(*limits.second_hop) + "` takes more than " + times +
                      " times the steps by trainings, whatever the codec: name that as well, or allow more steps");
  }
  const Hops& way = ways.front();
  Decision decision{way.first, way.second, limits.strategy.value_or(StrategyKind::kPs), limits.partitions.value_or(1),
                    0,         0};
  decision.servers = limits.servers.value_or(Servers{});
  const Result<const Option*> option = evaluator.option(at, decision);
  if (!option) return option.status();
  return plan_error("gradient " + request.training.gradients[at].spec.name + ": nothing is left of what the rules fix");
}

}  // namespace

bool compresses(const Decision& decision) {
  return decision.codec.name != "none" || decision.second_hop.name != "none";
}

Result<std::vector<const Option*>> all_options(Evaluator& evaluator, std::size_t at) {
  const PlanRequest& request = evaluator.request();
  const GradientSpec& spec = request.training.gradients[at].spec;
  const Limits& limits = evaluator.limits(at);
  const Result<std::vector<Hops>> ways = hops(evaluator, at);
  if (!ways) return ways.status();
  const Servers servers = limits.servers.value_or(Servers{});
  const std::vector<int> counts = limits.partitions
                                      ? std::vector<int>{*limits.partitions}
                                      : partition_counts(spec, owner_count(servers, request.topology.ranks));
  std::vector<const Option*> options;
  for (const Hops& way : *ways) {
    if (takes_too_many_steps(request, limits, way)) continue;
    // Nothing of a scattered gradient comes back, and it has no exchanges.
    if (spec.scattered && !limits.second_hop && (way.rounds || !(way.first == way.second)) && !limits.codec) continue;
    if (way.rounds && servers.dedicated && !limits.codec) continue;  // they would compute between exchanges
    if (way.rounds && !limits.codec) {
      const Result<bool> any = exchanges(evaluator, way, spec);
      if (!any) return any.status();
      if (!*any) continue;
    }
    for (const StrategyKind strategy : worth_trying(evaluator, at, way)) {
      for (const int partitions : counts) {
        Decision decision{way.first, way.second, strategy, partitions, spec.priority, 0};
        decision.servers = servers;
        const Result<const Option*> option = evaluator.option(at, decision);
        // As above: in half precision `none` is a codec, and this strategy may not carry it.
        if (!option && spec.dtype != DType::kFloat32 && strategy != StrategyKind::kPs && !limits.strategy) continue;
        if (!option) return option.status();
        options.push_back(*option);
      }
    }
  }
  if (options.empty()) return nothing_left(evaluator, at, *ways);
  return options;
}

Decision nearest_within(const Limits& limits, const std::vector<const Option*>& options, Decision decision) {
  const auto nearness = [&](const Option* option) {
    const Decision& other = option->decision;
    const bool codecs = other.codec == decision.codec && other.second_hop == decision.second_hop;
    return (codecs ? 4 : 0) + (other.strategy == decision.strategy ? 2 : 0) + (compresses(other) ? 0 : 1);
  };
  const Decision& nearest = (*std::max_element(options.begin(), options.end(), [&](const Option* a, const Option* b) {
                              return nearness(a) < nearness(b);
                            }))->decision;
  decision.codec = nearest.codec;
  decision.second_hop = nearest.second_hop;
  decision.strategy = nearest.strategy;
  decision.servers = nearest.servers;
  decision.partitions = limits.partitions.value_or(decision.partitions);
  decision.priority = limits.priority.value_or(decision.priority);
  return decision;
}

std::vector<Prices> price_grid(double step_s) {
  std::vector<Prices> grid;
  // A step with compression takes at least as long as its training, and seldom more than a few times as long.
  for (const double steps : step_s > 0 ? std::vector{step_s, 4 * step_s} : std::vector{0.0}) {
    for (const double port : {0.0, 0.2, 1.0, 5.0, 100.0}) {
      for (const double codec : {0.0, 0.3, 1.0, 3.0}) grid.push_back({port, codec * std::max(port, 0.2), steps});
    }
  }
  return grid;
}

const Option* cheapest(const std::vector<const Option*>& options, const Prices& prices) {
  const auto cost = [&](const Option* option) {
    const Outline& outline = option->outline;
    return outline.alone_s() + prices.port * outline.busiest_port_s() +
           prices.codec * (outline.codec_s() + outline.messages_s()) + prices.steps * option->more_steps;
  };
  return *std::min_element(options.begin(), options.end(),
                           [&](const Option* a, const Option* b) { return cost(a) < cost(b); });
}

std::vector<const Option*> worthwhile(const std::vector<const Option*>& options, double step_s) {
  std::vector<const Option*> plain;
  for (const Option* option : options) {
    if (!compresses(option->decision)) plain.push_back(option);
  }
  std::set<const Option*> chosen;
  for (const Prices& prices : price_grid(step_s)) {
    chosen.insert(cheapest(options, prices));
    if (!plain.empty()) chosen.insert(cheapest(plain, prices));
  }
  std::vector<const Option*> kept;
  for (const Option* option : options) {
    if (chosen.contains(option)) kept.push_back(option);
  }
  return kept;
}

}  // namespace casync
