// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/whole_step.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "casync/planner/search/bandwidth.h"
#include "casync/planner/search/evaluator.h"
#include "casync/planner/search/options.h"
#include "casync/simulator/rounds.h"

namespace casync {
namespace {

constexpr double kPays = 0.99;  // of the uncompressed step: predictions are not better than a hundredth
constexpr int kHalvings = 7;    // of the range of bandwidths by its logarithm: to 7 %
constexpr int kFormHalvings = 30;

PlanRequest without_codecs(PlanRequest request) {
  request.codecs.clear();
  request.max_error.reset();
  request.warm_up_steps = 0;
  for (Limits& limits : request.limits) {
    limits.codec = limits.second_hop = CodecChoice{};
    limits.offers.clear();
    limits.max_error.reset();
    limits.warm_up_steps.reset();
    limits.warm_up_from.reset();
  }
  return request;
}

/// Returns true if the reference plans called plain compress nothing and exchange in every step.
bool leaves_plain(const PlanRequest& request) {
  const auto compresses_by = [](const std::optional<CodecChoice>& fixed) { return fixed && fixed->name != "none"; };
  return request.mode == SyncMode{} &&
         std::none_of(request.limits.begin(), request.limits.end(), [&](const Limits& limits) {
           return compresses_by(limits.codec) || compresses_by(limits.second_hop);
         });
}

std::optional<double> shortest_plain_s(const PlanReport& report) {
  std::optional<double> shortest;
  for (const PlanReport::Compared& other : report.compared) {
    if (other.name.starts_with("plain, ")) shortest = std::min(shortest.value_or(other.step_s), other.step_s);
  }
  return shortest;
}

PlanRequest without_latency(PlanRequest request) {
  request.profile.between.latency_s = request.profile.inside.latency_s = 0;
  return request;
}

/// The cost of all gradients of a step, each on one owner.
struct Work {
  double bytes = 0, encode_s = 0, decode_s = 0;

  void add(const Outline& outline, int ranks) {
    double sent = 0;
    for (const Stage& stage : outline.stages) {
      const double times = stage.gathers ? outline.rounds : outline.rounds * outline.lumps;
      if (stage.kind == Stage::Kind::kSend) sent += times * stage.bytes;
      if (stage.kind == Stage::Kind::kDecode) decode_s += times * stage.seconds;
      if (stage.kind == Stage::Kind::kEncode || stage.kind == Stage::Kind::kMerge) encode_s += times * stage.seconds;
    }
    if (ranks > 1) bytes += sent * ranks / (2.0 * (ranks - 1));
  }
};

Result<Work> work_of(const PlanRequest& request, const PlannedStep& step) {
  Work work;
  const AlikeRanks ranks{.ranks = request.topology.ranks, .nodes = request.topology.ranks};
  for (std::size_t g = 0; g < step.decisions.size(); ++g) {
    const GradientSpec& spec = request.training.gradients[g].spec;
    Decision decision = in_own_type(step.decisions[g], spec.dtype);
    decision.strategy = StrategyKind::kPs;
    decision.partitions = 1;
    decision.servers = {};
    const Result<Outline> outline = outline_of(decision, spec, ranks, request.profile, request.facts_of);
    if (!outline) return outline.status();
    work.add(*outline, request.topology.ranks);
  }
  return work;
}

bool compresses_any(const PlannedStep& step) {
  return std::any_of(step.decisions.begin(), step.decisions.end(), compresses);
}

UtilityModel model_of(const PlanRequest& request) {
  const Training& training = request.training;
  return utility_model(request.topology, request.profile, training.backward_s, training.forward_s);
}

UtilityStep closed_form(const UtilityModel& model, const Work& work, bool compressed) {
  return compressed ? compressed_step(model, work.bytes, work.encode_s, work.decode_s)
                    : uncompressed_step(model, work.bytes);
}

Result<WholeStep::Side> side(const PlanRequest& request, PlanReport report) {
  WholeStep::Side made;
  const Result<Work> work = work_of(request, report.step);
  if (!work) return work.status();
  const PlanRequest immediate = without_latency(request);
  Evaluator evaluator(immediate);
  const Result<Simulation> sooner = evaluator.judge(report.step, report.all_ranks);
  if (!sooner) return sooner.status();
  const StepParts& parts = report.simulation.parts;
  made.latency_s = std::max(0.0, report.simulation.step_s - sooner->step_s);
  made.hidden_s = parts.training_s + parts.encode_s + parts.merge_s + parts.decode_s + parts.copies_s + parts.tasks_s +
                  parts.wire_s + made.latency_s - report.simulation.step_s;
  made.bytes = work->bytes;
  made.closed_form = closed_form(model_of(request), *work, compresses_any(report.step));
  made.step = std::move(report.step);
  made.simulation = std::move(report.simulation);
  return made;
}

/// The largest bandwidth at which `pays` holds, if it holds below one and not above.
Result<std::optional<double>> largest(int halvings, const std::function<Result<bool>(double)>& pays) {
  double low = kSlowestBandwidth, high = kFastestBandwidth;
  const Result<bool> ever = pays(low);
  if (!ever) return ever.status();
  if (!*ever) return std::optional<double>();
  const Result<bool> always = pays(high);
  if (!always) return always.status();
  if (*always) return std::optional<double>(high);
  for (int i = 0; i < halvings; ++i) {
    const double middle = std::sqrt(low * high);
    const Result<bool> there = pays(middle);
    if (!there) return there.status();
    (*there ? low : high) = middle;
  }
  return std::optional<double>(std::sqrt(low * high));
}

Result<bool> pays_at(const PlanRequest& request, const PlanRequest& plain, double bandwidth) {
  const Result<PlanReport> with = find_plan(with_bandwidth(request, bandwidth));
  if (!with) return with.status();
  if (!compresses_any(with->step)) return false;
  const Result<PlanReport> without = find_plan(with_bandwidth(plain, bandwidth));
  if (!without) return without.status();
  return with->steps * with->simulation.step_s < kPays * without->simulation.step_s;
}

/// The closed form decides about the codecs of one plan, whatever the bandwidth is.
Result<bool> form_pays_at(const PlanRequest& request, const Work& plain, const Work& compressed, double bandwidth) {
  const UtilityModel model = model_of(with_bandwidth(request, bandwidth));
  return closed_form(model, compressed, true).step_s() < kPays * closed_form(model, plain, false).step_s();
}

Status find_bandwidths(const PlanRequest& request, const PlanRequest& plain, WholeStep& made) {
  const Result<std::optional<double>> below = compression_pays_below(request);
  if (!below) return below.status();
  made.pays_below = *below;
  // If nothing pays here, the codecs come from the plan for the slowest link.
  Result<PlanReport> slow = find_plan(with_bandwidth(request, kSlowestBandwidth));
  if (!slow) return slow.status();
  const PlannedStep& coded = compresses_any(made.compressed.step) ? made.compressed.step : slow->step;
  if (!compresses_any(coded)) return Status::ok();
  const Result<Work> without = work_of(plain, made.plain.step), with = work_of(request, coded);
  if (!without) return without.status();
  if (!with) return with.status();
  const auto form = [&](double bandwidth) { return form_pays_at(request, *without, *with, bandwidth); };
  const Result<std::optional<double>> form_below = largest(kFormHalvings, form);
  if (!form_below) return form_below.status();
  made.closed_form_pays_below = *form_below;
  return Status::ok();
}

}  // namespace

Result<std::optional<double>> compression_pays_below(const PlanRequest& request) {
  const PlanRequest plain = without_codecs(request);
  return largest(kHalvings, [&](double bandwidth) { return pays_at(request, plain, bandwidth); });
}

Result<double> uncompressed_step_s(const PlanRequest& request, const PlanReport& report) {
  const std::optional<double> compared = leaves_plain(request) ? shortest_plain_s(report) : std::nullopt;
  if (compared) return *compared;
  PlanRequest plain = without_codecs(request);
  plain.mode = {};
  const Result<PlanReport> without = find_plan(plain);
  if (!without) return without.status();
  return shortest_plain_s(*without).value_or(without->simulation.step_s);
}

Result<WholeStep> whole_step(const PlanRequest& request) {
  const PlanRequest plain = without_codecs(request);
  Result<PlanReport> without = find_plan(plain), with = find_plan(request);
  if (!without) return without.status();
  if (!with) return with.status();
  Result<WholeStep::Side> first = side(plain, std::move(*without)), second = side(request, std::move(*with));
  if (!first) return first.status();
  if (!second) return second.status();
  WholeStep made;
  made.plain = std::move(*first);
  made.compressed = std::move(*second);
  made.enough = enough_compression(model_of(request), made.plain.bytes);
  CASYNC_RETURN_IF_ERROR(find_bandwidths(request, plain, made));
  return made;
}

}  // namespace casync
