// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/options.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "casync/planner/decide.h"
#include "casync/simulator/rounds.h"

namespace casync {
namespace {

constexpr Bytes kLeastPartition = 16_KiB;  // of less, what a message costs is all that it costs
constexpr int kMostRounds = 16;

std::vector<int> partition_counts(const GradientSpec& spec, int ranks) {
  const auto most = static_cast<int>(std::clamp<Bytes>(spec.bytes() / kLeastPartition, 1, kMostPartitions));
  std::set<int> counts{1};
  for (int count = 2; count <= std::min(most, ranks); count *= 2) counts.insert(count);
  for (int rounds = 1; rounds <= kMostRounds; rounds *= 2) {
    if (ranks <= most / rounds) counts.insert(rounds * ranks);
  }
  return {counts.begin(), counts.end()};
}

struct Hops {
  CodecChoice first, second;
  CodecTraits traits;   ///< of the first
  bool rounds = false;  ///< a codec that exchanges: it stands for both
};

/// Whether a codec that exchanges does so for this gradient.
Result<bool> exchanges(Evaluator& evaluator, const Hops& way, const GradientSpec& spec) {
  Decision decision{way.first, way.second, StrategyKind::kPs, 1, 0, 0};
  const PlanRequest& request = evaluator.request();
  const auto rounds = rounds_of(decision, spec, request.topology.ranks, request.profile,
                                [&](const CodecChoice& choice) { return evaluator.facts(choice); });
  if (!rounds) return rounds.status();
  return rounds->has_value();
}

/// As it is; each codec; each codec with a finer one on the way back; as it is with each codec on the way back.
Result<std::vector<Hops>> hops(Evaluator& evaluator) {
  std::vector<Hops> made;
  const CodecChoice none;
  const std::vector<CodecOffer>& offers = evaluator.request().codecs;
  const Result<CodecFacts> plain = evaluator.facts(none);
  if (!plain) return plain.status();
  made.push_back({none, none, plain->traits});
  std::vector<CodecOffer> encoding;
  std::copy_if(offers.begin(), offers.end(), std::back_inserter(encoding), [&](const CodecOffer& offer) {
    const Result<CodecFacts> facts = evaluator.facts(offer.choice);
    return facts && !facts->rounds;
  });
  for (const CodecOffer& offer : offers) {
    const Result<CodecFacts> facts = evaluator.facts(offer.choice);
    if (!facts) return facts.status();
    made.push_back({offer.choice, offer.choice, facts->traits, facts->rounds != nullptr});
    for (const CodecOffer& finer : facts->rounds ? std::vector<CodecOffer>() : encoding) {
      if (finer.error < offer.error) made.push_back({offer.choice, finer.choice, facts->traits});
    }
  }
  for (const CodecOffer& offer : encoding) made.push_back({none, offer.choice, plain->traits});
  return made;
}

std::vector<StrategyKind> strategies(const Hops& hops, const Topology& topology) {
  std::vector<StrategyKind> able{StrategyKind::kPs};
  if (hops.traits.exact_merge && !hops.traits.coded_terms) {
    able.insert(able.end(), {StrategyKind::kRing, StrategyKind::kTree});
  }
  if (hops.first == hops.second) able.push_back(StrategyKind::kAllGather);
  const bool levels = topology.nodes() > 1 && topology.nodes() < topology.ranks;
  if (levels && !hops.traits.coded_terms) able.push_back(StrategyKind::kHierarchical);
  return able;
}

}  // namespace

bool compresses(const Decision& decision) {
  return decision.codec.name != "none" || decision.second_hop.name != "none";
}

Result<std::vector<const Option*>> all_options(Evaluator& evaluator, std::size_t at) {
  const PlanRequest& request = evaluator.request();
  const GradientSpec& spec = request.training.gradients[at].spec;
  const Result<std::vector<Hops>> ways = hops(evaluator);
  if (!ways) return ways.status();
  std::vector<const Option*> options;
  for (const Hops& way : *ways) {
    if (way.rounds) {
      const Result<bool> any = exchanges(evaluator, way, spec);
      if (!any) return any.status();
      if (!*any) continue;
    }
    for (const StrategyKind strategy : strategies(way, request.topology)) {
      for (const int partitions : partition_counts(spec, request.topology.ranks)) {
        const Result<const Option*> option =
            evaluator.option(at, {way.first, way.second, strategy, partitions, spec.priority, 0});
        if (!option) return option.status();
        options.push_back(*option);
      }
    }
  }
  return options;
}

std::vector<Prices> price_grid() {
  std::vector<Prices> grid;
  for (const double port : {0.0, 0.2, 1.0, 5.0, 100.0}) {
    for (const double codec : {0.0, 0.3, 1.0, 3.0}) grid.push_back({port, codec * std::max(port, 0.2)});
  }
  return grid;
}

const Option* cheapest(const std::vector<const Option*>& options, const Prices& prices) {
  const auto cost = [&](const Option* option) {
    const Outline& outline = option->outline;
    return outline.alone_s() + prices.port * std::max(outline.port_s(false), outline.port_s(true)) +
           prices.codec * outline.codec_s();
  };
  return *std::min_element(options.begin(), options.end(),
                           [&](const Option* a, const Option* b) { return cost(a) < cost(b); });
}

std::vector<const Option*> worthwhile(const std::vector<const Option*>& options) {
  std::vector<const Option*> plain;
  for (const Option* option : options) {
    if (!compresses(option->decision)) plain.push_back(option);
  }
  std::set<const Option*> chosen;
  for (const Prices& prices : price_grid()) chosen.insert({cheapest(options, prices), cheapest(plain, prices)});
  std::vector<const Option*> kept;
  for (const Option* option : options) {
    if (chosen.contains(option)) kept.push_back(option);
  }
  return kept;
}

}  // namespace casync
