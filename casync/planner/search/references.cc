// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/references.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "casync/planner/decide.h"
#include "casync/planner/search/limits.h"
#include "casync/planner/search/options.h"
#include "casync/planner/search/usual.h"

namespace casync {
namespace {

using Decide = std::function<Result<Decision>(std::size_t)>;

const CodecChoice kNone{};
constexpr std::size_t kTypical = static_cast<std::size_t>(-1);  ///< no gradient that anything is recorded of

/// SeCoPa's stages, with the prices of a profile: all of a root's messages one after the other, and nothing overlaps.
class SecopaStages {
 public:
  SecopaStages(const PlanRequest& request, Elements elements, CodecFacts plain, CodecFacts coded)
      : request_(request),
        link_(request.topology.nodes() > 1 ? request.profile.between : request.profile.inside),
        elements_(elements),
        plain_(std::move(plain), request.profile),
        coded_(std::move(coded), request.profile) {}

  double as_it_is(int partitions) const { return 2 * at_root(plain_.payload_bytes(part(partitions))); }

  double compressed(int partitions) const {
    const int n = request_.topology.ranks;
    const Elements size = part(partitions);
    return 2 * at_root(coded_.payload_bytes(size)) + std::min(partitions + 1, n) * coded_.encode(size) +
           std::min(n - 1 + partitions, 2 * (n - 1)) * coded_.decode(size);
  }

 private:
  Elements part(int partitions) const { return elements_ / static_cast<Elements>(partitions); }
  double at_root(Bytes bytes) const {
    const double one = link_.message_s + link_.wire.at(static_cast<double>(bytes));
    return link_.latency_s + (request_.topology.ranks - 1) * one;
  }

  const PlanRequest& request_;
  const Link& link_;
  Elements elements_;
  CodecCosts plain_, coded_;
};

class Writer {
 public:
  explicit Writer(Evaluator& evaluator) : evaluator_(evaluator), request_(evaluator.request()) {}

  Status add(const std::string& name, Bytes fusion_bytes, const Decide& decide) {
    PlannedStep step{name, {}, fusion_bytes};
    for (std::size_t g = 0; g < request_.training.gradients.size(); ++g) {
      Result<Decision> decision = decide(g);
      if (!decision) return decision.status();
      Result<Decision> own = within_limits(g, std::move(*decision));
      if (!own) return own.status();
      // Elements of half precision are coded on their way, which not every strategy carries.
      if (!evaluator_.option(g, *own) && !evaluator_.limits(g).strategy) own->strategy = StrategyKind::kPs;
      step.decisions.push_back(std::move(*own));
    }
    made_.push_back(std::move(step));
    return Status::ok();
  }

  /// Decides with the usual number of partitions.
  Decision decision(std::size_t at, const CodecChoice& codec, StrategyKind strategy) const {
    Decision made{codec, codec, strategy, 1, request_.training.gradients[at].spec.priority, 0};
    Decision served = made;  // servers count for the partitions; within_limits() adds them
    served.servers = evaluator_.limits(at).servers.value_or(Servers{});
    made.partitions = usual_partitions(evaluator_, at, served);
    return made;
  }
  /// Decides for an uncompressed gradient, with partitions of this size.
  Decision decision(std::size_t at, StrategyKind strategy, Bytes partition_bytes) const {
    const GradientSpec& spec = request_.training.gradients[at].spec;
    const int ranks = request_.topology.ranks;
    const int owners = owner_count(evaluator_.limits(at).servers.value_or(Servers{}), ranks);
    return {kNone, kNone, strategy, choose_partitions(spec.bytes(), ranks, owners, partition_bytes), spec.priority, 0};
  }

  const PlanRequest& request() const { return request_; }
  Evaluator& evaluator() { return evaluator_; }
  std::vector<PlannedStep> take() { return std::move(made_); }

 private:
  /// The decision, or the nearest one that the request's limits allow, and that a scattered gradient can have.
  Result<Decision> within_limits(std::size_t at, Decision decision) {
    if (request_.limits.empty() && !request_.training.gradients[at].spec.scattered) return decision;
    const auto [known, fresh] = options_.try_emplace(evaluator_.kind_of(at));
    if (fresh) {
      Result<std::vector<const Option*>> options = all_options(evaluator_, at);
      if (!options) return options.status();
      known->second = std::move(*options);
    }
    return nearest_within(evaluator_.limits(at), known->second, std::move(decision));
  }

  Evaluator& evaluator_;
  const PlanRequest& request_;
  std::map<std::string, std::vector<const Option*>> options_;  ///< by kind of gradient, of those with limits
  std::vector<PlannedStep> made_;
};

bool is_reference(const Strategy& strategy, References which, const Topology& topology) {
  return strategy.references >= which && (!strategy.levels || has_levels(topology));
}

Status add_plain(Writer& writer) {
  for (const Strategy& strategy : strategies()) {
    if (!is_reference(strategy, References::kPlain, writer.request().topology)) continue;
    CASYNC_RETURN_IF_ERROR(writer.add("plain, " + std::string(strategy.name), Plan{}.fusion_bytes,
                                      [&](std::size_t g) { return writer.decision(g, kNone, strategy.kind); }));
  }
  return Status::ok();
}

Status add_codec(Writer& writer, const CodecChoice& codec) {
  const PlanRequest& request = writer.request();
  // It may be used with another codec on the other hop, but not for all gradients on both.
  if (request.more_steps && request.more_steps(codec, codec) > request.most_more_steps) return Status::ok();
  const std::string name = text_of(codec);
  const Result<CodecFacts> facts = writer.evaluator().facts(codec);
  if (!facts) return facts.status();
  Limits unsaid;
  unsaid.max_error = writer.request().max_error;
  for (const Strategy& strategy : strategies()) {
    if (!is_reference(strategy, References::kCoded, writer.request().topology)) continue;
    if (!may_merge_again(writer.request(), unsaid, kTypical, codec, facts->traits, strategy.kind)) continue;
    CASYNC_RETURN_IF_ERROR(writer.add(name + ", " + std::string(strategy.name), Plan{}.fusion_bytes,
                                      [&](std::size_t g) { return writer.decision(g, codec, strategy.kind); }));
  }
  if (facts->rounds) return Status::ok();                // SeCoPa's rule is about codes that are merged
  std::map<std::pair<Elements, DType>, Decision> known;  // its rule sees nothing but the size
  return writer.add("SeCoPa with " + name, Plan{}.fusion_bytes, [&](std::size_t g) -> Result<Decision> {
    const GradientSpec& spec = writer.request().training.gradients[g].spec;
    const auto found = known.find({spec.elements(), spec.dtype});
    Result<Decision> decision = found != known.end() ? found->second : secopa(writer.evaluator(), g, codec);
    if (!decision) return decision.status();
    known.emplace(std::pair(spec.elements(), spec.dtype), *decision);
    decision->priority = spec.priority;
    return decision;
  });
}

Status add_schedules(Writer& writer) {
  const int ranks = writer.request().topology.ranks;
  const auto whole = [&](StrategyKind strategy) {
    return [&writer, strategy, ranks](std::size_t g) {
      Decision decision = writer.decision(g, kNone, strategy);
      decision.partitions = strategy == StrategyKind::kRing ? ranks : 1;
      decision.priority = 0;
      return decision;
    };
  };
  for (const StrategyKind strategy : {StrategyKind::kPs, StrategyKind::kRing}) {
    const std::string over = ", " + std::string(name_of(strategy));
    CASYNC_RETURN_IF_ERROR(writer.add("WFBP" + over, 0, whole(strategy)));
    CASYNC_RETURN_IF_ERROR(writer.add("MG-WFBP" + over, 4_MiB, whole(strategy)));
    for (const Bytes bytes : {2_MiB, 8_MiB}) {
      CASYNC_RETURN_IF_ERROR(writer.add("ByteScheduler" + over + ", " + std::to_string(bytes >> 20) + " MiB", 0,
                                        [&](std::size_t g) { return writer.decision(g, strategy, bytes); }));
    }
  }
  return Status::ok();
}

}  // namespace

Result<Decision> secopa(Evaluator& evaluator, std::size_t at, const CodecChoice& codec) {
  const PlanRequest& request = evaluator.request();
  const GradientSpec& spec = request.training.gradients[at].spec;
  const CodecChoice own = in_own_type({kNone, kNone, StrategyKind::kPs, 1, 0, 0}, spec.dtype).codec;
  Result<CodecFacts> plain = evaluator.facts(own);
  if (!plain) return plain.status();
  Result<CodecFacts> coded = evaluator.facts(codec);
  if (!coded) return coded.status();
  const SecopaStages stages(request, spec.elements(), std::move(*plain), std::move(*coded));
  Decision best{kNone, kNone, StrategyKind::kPs, 1, spec.priority, 0};
  double least = stages.as_it_is(1);
  const int most = static_cast<int>(
      std::min<Elements>(std::max<Elements>(spec.elements(), 1), static_cast<Elements>(request.topology.ranks)));
  for (int k = 1; k <= most; ++k) {
    for (const bool compress : {false, true}) {
      const double seconds = compress ? stages.compressed(k) : stages.as_it_is(k);
      if (seconds >= least) continue;
      least = seconds;
      best.codec = best.second_hop = compress ? codec : kNone;
      best.partitions = k;
    }
  }
  return best;
}

Result<std::vector<PlannedStep>> reference_plans(Evaluator& evaluator) {
  Writer writer(evaluator);
  CASYNC_RETURN_IF_ERROR(add_plain(writer));
  for (const CodecOffer& offer : evaluator.request().codecs) CASYNC_RETURN_IF_ERROR(add_codec(writer, offer.choice));
  CASYNC_RETURN_IF_ERROR(add_schedules(writer));
  return writer.take();
}

}  // namespace casync
