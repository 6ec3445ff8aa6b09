// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/tune/result.h"

#include <algorithm>
#include <functional>

#include "casync/model/codec_choice.h"
#include "casync/planner/decide.h"
#include "casync/planner/loss_table.h"
#include "casync/planner/model_file.h"
#include "casync/planner/plan_file.h"
#include "casync/planner/search/payload_bits.h"
#include "casync/simulator/rounds.h"
#include "runtime/session/agreement.h"
#include "tools/casync/codec_facts.h"
#include "tools/casync/formatted.h"
#include "tools/casync/measurement/numbers.h"
#include "tools/casync/planning/gradient_samples.h"
#include "tools/casync/planning/losses.h"
#include "tools/casync/scenario/scenario.h"

namespace casync::tools {
namespace {

constexpr int kFewestSteps = 3;

using Decide = std::function<Decision(const GradientSpec&)>;

/// The larger error of the two hops.
Result<double> error_of(const Decision& decision, std::size_t gradient, Losses& losses) {
  double error = 0;
  for (const CodecChoice& choice : {decision.codec, decision.second_hop}) {
    if (choice.name == "none") continue;
    const Result<CodecOffer> offer = losses.of(choice);
    CASYNC_RETURN_IF_ERROR(offer.status());
    error = std::max(error, offer->error_of(gradient));
  }
  return error;
}

std::optional<double> more_steps_of(const Decision& decision) {
  const bool compressed = decision.codec.name != "none" || decision.second_hop.name != "none";
  return compressed ? more_steps(decision.codec, decision.second_hop) : 0;
}

/// Means over elements.
Status add_losses(TunedWay& way, const Training& training, Losses& losses, const Decide& decide_for) {
  double lost = 0, elements = 0;
  std::optional<double> more = 0;
  for (std::size_t i = 0; i < training.gradients.size(); ++i) {
    const GradientSpec& spec = training.gradients[i].spec;
    const Decision decision = decide_for(spec);
    const Result<double> error = error_of(decision, i, losses);
    CASYNC_RETURN_IF_ERROR(error.status());
    const double count = static_cast<double>(spec.elements());
    const std::optional<double> steps = more_steps_of(decision);
    more = more && steps ? std::optional(*more + *steps * count) : std::nullopt;
    lost += *error * count;
    elements += count;
  }
  way.error = elements > 0 ? lost / elements : 0;
  way.steps = more ? std::optional(1 + (elements > 0 ? *more / elements : 0)) : std::nullopt;
  return Status::ok();
}

/// The codec that a trace of a session with `plan` has of a gradient: one that is sent as it is has that of its type,
/// and a program its identity, without its path. Errors as decision_of_session and parse_codec_choice.
Result<CodecChoice> traced_codec(const Plan& plan, const GradientSpec& spec, int ranks) {
  const Result<Decision> decision = decision_of_session(plan, spec, ranks, {});
  CASYNC_RETURN_IF_ERROR(decision.status());
  if (decision->codec.name == "none") return plain_codec(spec.dtype);
  return parse_codec_choice(runtime::identity_of(decision->codec));
}

/// InvalidArgument: a gradient of the training used another codec, or other parameters of it, than sessions with `plan`
/// use.
Status check_used(const RankTrace& trace, const Plan& plan, const Training& training, int ranks) {
  for (const TrainedGradient& gradient : training.gradients) {
    const auto traced = std::find_if(trace.gradients.begin(), trace.gradients.end(),
                                     [&](const TracedGradient& each) { return each.name == gradient.spec.name; });
    if (traced == trace.gradients.end()) continue;
    const Result<CodecChoice> expected = traced_codec(plan, gradient.spec, ranks);
    const Result<CodecChoice> used = parse_codec_choice(traced->codec);
    if (!expected || !used || *used == *expected) continue;
    return invalid_argument("gradient " + traced->name + " used codec " + text_of(*used) + " and not " +
                            text_of(*expected) +
                            ": the program names its codec or plan itself; leave both out while it is tuned");
  }
  return Status::ok();
}

/// The plan of a way's sessions; `path` has that of kPlanned. Errors as read_plan_file and parse_codec_choice.
Result<Plan> plan_of(const std::string& way, const std::string& path) {
  if (way == kPlanned) return read_plan_file(path);
  Plan plan;
  if (way == kUncompressed) return plan;
  const Result<CodecChoice> codec = parse_codec_choice(way);
  CASYNC_RETURN_IF_ERROR(codec.status());
  plan.defaults.codec = *codec;
  return plan;
}

/// One run of a way.
Result<TunedWay> measured_run(const std::string& name, const std::string& folder, const Plan& plan,
                              const Training& training, int ranks) {
  const Result<TraceFolder> traces = read_trace_folder(folder);
  CASYNC_RETURN_IF_ERROR(traces.status());
  const nlohmann::ordered_json numbers = report_numbers(*traces);
  if (numbers["traced_steps"].get<int>() < kFewestSteps) {
    return invalid_argument(folder + ": the program ended after " + numbers["traced_steps"].dump() +
                            " steps, expected " + std::to_string(kFewestSteps) + " at least");
  }
  const Status used = check_used(traces->traces.front(), plan, training, ranks);
  if (!used) return Status(used.code(), folder + ": " + used.message());
  const auto number = [&](const char* field) { return numbers[field].is_number() ? numbers[field].get<double>() : 0; };
  return TunedWay{name, number("ms_per_step"), number("exposed_ms_per_step"), number("payload_bytes_per_rank_step")};
}

}  // namespace

Result<TunedWay> measured_way(const std::string& name, const std::vector<std::string>& folders,
                              const std::string& plan_path, const Training& training, int ranks) {
  const Result<Plan> plan = plan_of(name, plan_path);
  CASYNC_RETURN_IF_ERROR(plan.status());
  TunedWay mean{name};
  const double share = 1.0 / static_cast<double>(folders.size());
  for (const std::string& folder : folders) {
    const Result<TunedWay> run = measured_run(name, folder, *plan, training, ranks);
    CASYNC_RETURN_IF_ERROR(run.status());
    mean.step_ms += share * run->step_ms;
    mean.exposed_ms += share * run->exposed_ms;
    mean.sent_bytes += share * run->sent_bytes;
  }
  return mean;
}

Status add_losses(std::vector<TunedWay>& ways, const std::string& record, const std::string& plan_path, int ranks) {
  const Result<Training> training = read_model_file(record + "/model.txtpb");
  CASYNC_RETURN_IF_ERROR(training.status());
  Result<GradientSamples> samples = read_gradient_samples(record + "/gradients.safetensors", *training);
  CASYNC_RETURN_IF_ERROR(samples.status());
  const Result<Plan> plan = read_plan_file(plan_path);
  CASYNC_RETURN_IF_ERROR(plan.status());
  Losses losses(std::move(samples->values));
  for (TunedWay& way : ways) {
    const Result<CodecChoice> codec = parse_codec_choice(way.name);
    const Decide decide_for = [&](const GradientSpec& spec) {
      if (way.name == kPlanned) return decide(*plan, spec, ranks, payload_bits(facts_of));
      Decision decision;
      if (way.name != kUncompressed && codec) decision.codec = decision.second_hop = *codec;
      return decision;
    };
    CASYNC_RETURN_IF_ERROR(add_losses(way, *training, losses, decide_for));
  }
  return Status::ok();
}

std::string text_of(const std::vector<TunedWay>& ways) {
  std::string text = formatted("%-14s %10s %10s %9s %12s %9s %8s\n", "", "ms a step", "exposed", "speed-up", "KiB sent",
                               "error", "steps");
  const TunedWay& reference = ways.front();
  for (const TunedWay& way : ways) {
    text += formatted("%-14.60s %10.1f %10.1f %8.2fx %12.0f %9.2g %8s\n", way.name.c_str(), way.step_ms, way.exposed_ms,
                      way.step_ms > 0 ? reference.step_ms / way.step_ms : 0, way.sent_bytes / 1024, way.error,
                      way.steps ? formatted("%.2fx", *way.steps).c_str() : "?");
  }
  return text;
}

nlohmann::ordered_json json_of(const std::vector<TunedWay>& ways) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const TunedWay& way : ways) {
    all.push_back({{"name", way.name},
                   {"step_ms", way.step_ms},
                   {"exposed_ms", way.exposed_ms},
                   {"payload_bytes_per_rank_step", way.sent_bytes},
                   {"error", way.error},
                   {"steps", way.steps ? nlohmann::ordered_json(*way.steps) : nlohmann::ordered_json()}});
  }
  return all;
}

}  // namespace casync::tools
