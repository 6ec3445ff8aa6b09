// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/tune/result.h"

#include <algorithm>
#include <cstdio>

#include "casync/model/codec_choice.h"
#include "casync/planner/decide.h"
#include "casync/planner/model_file.h"
#include "casync/planner/plan_file.h"
#include "tools/casync/plan/gradient_samples.h"
#include "tools/casync/plan/losses.h"
#include "tools/casync/report/numbers.h"

namespace casync::tools {
namespace {

constexpr const char* kPlan = "plan";
constexpr int kFewestSteps = 3;

/// The larger error of the two hops, mean over elements.
Result<double> mean_error(const Training& training, Losses& losses,
                          const std::function<Decision(const GradientSpec&)>& decide_for) {
  double lost = 0, elements = 0;
  for (std::size_t i = 0; i < training.gradients.size(); ++i) {
    const GradientSpec& spec = training.gradients[i].spec;
    const Decision decision = decide_for(spec);
    double error = 0;
    for (const CodecChoice& choice : {decision.codec, decision.second_hop}) {
      if (choice.name == "none") continue;
      const Result<CodecOffer> offer = losses.of(choice);
      CASYNC_RETURN_IF_ERROR(offer.status());
      error = std::max(error, offer->error_of(i));
    }
    lost += error * static_cast<double>(spec.elements());
    elements += static_cast<double>(spec.elements());
  }
  return elements > 0 ? lost / elements : 0;
}

std::string line(const char* format, auto... arguments) {
  char text[200];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

}  // namespace

Result<TunedWay> measured_way(const std::string& name, const std::string& folder, const std::string& codec) {
  const Result<TraceFolder> traces = read_trace_folder(folder);
  CASYNC_RETURN_IF_ERROR(traces.status());
  const nlohmann::ordered_json numbers = report_numbers(*traces);
  if (numbers["traced_steps"].get<int>() < kFewestSteps) {
    return invalid_argument(folder + ": the program ended after " + numbers["traced_steps"].dump() +
                            " steps, expected " + std::to_string(kFewestSteps) + " at least");
  }
  for (const TracedGradient& gradient : traces->traces.front().gradients) {
    const Result<CodecChoice> used = parse_codec_choice(gradient.codec);
    if (codec.empty() || !used) continue;
    const Result<CodecChoice> expected = parse_codec_choice(codec);
    if (expected && used->name != expected->name) {
      return invalid_argument("gradient " + gradient.name + " used codec " + used->name + " and not " + codec +
                              ": the program names its codec or plan itself; leave both out while it is tuned");
    }
  }
  const auto number = [&](const char* field) { return numbers[field].is_number() ? numbers[field].get<double>() : 0; };
  return TunedWay{name, number("ms_per_step"), number("exposed_ms_per_step"), number("payload_bytes_per_rank_step"), 0};
}

Status add_errors(std::vector<TunedWay>& ways, const std::string& record, const std::string& plan_path, int ranks) {
  const Result<Training> training = read_model_file(record + "/model.txtpb");
  CASYNC_RETURN_IF_ERROR(training.status());
  Result<GradientSamples> samples = read_gradient_samples(record + "/gradients.safetensors", *training);
  CASYNC_RETURN_IF_ERROR(samples.status());
  const Result<Plan> plan = read_plan_file(plan_path);
  CASYNC_RETURN_IF_ERROR(plan.status());
  Losses losses(std::move(samples->values));
  for (TunedWay& way : ways) {
    const Result<CodecChoice> codec = parse_codec_choice(way.name);
    const Result<double> error = mean_error(*training, losses, [&](const GradientSpec& spec) {
      if (way.name == kPlan) return decide(*plan, spec, ranks);
      Decision decision;
      if (way.name != "uncompressed" && codec) decision.codec = decision.second_hop = *codec;
      return decision;
    });
    CASYNC_RETURN_IF_ERROR(error.status());
    way.error = *error;
  }
  return Status::ok();
}

std::string text_of(const std::vector<TunedWay>& ways) {
  std::string text =
      line("%-14s %10s %10s %9s %12s %9s\n", "", "ms a step", "exposed", "speed-up", "KiB sent", "error");
  const TunedWay& reference = ways.front();
  for (const TunedWay& way : ways) {
    text += line("%-14.60s %10.1f %10.1f %8.2fx %12.0f %9.2g\n", way.name.c_str(), way.step_ms, way.exposed_ms,
                 way.step_ms > 0 ? reference.step_ms / way.step_ms : 0, way.sent_bytes / 1024, way.error);
  }
  const TunedWay& best =
      *std::min_element(ways.begin(), ways.end(), [](const auto& a, const auto& b) { return a.step_ms < b.step_ms; });
  if (&best == &reference) return text + "Compression does not pay here: the uncompressed step is the fastest.\n";
  return text + line("The fastest is %s: %.2f x, %.1f ms a step uncompressed, %.1f ms with it.\n", best.name.c_str(),
                     reference.step_ms / best.step_ms, reference.step_ms, best.step_ms);
}

nlohmann::ordered_json json_of(const std::vector<TunedWay>& ways) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const TunedWay& way : ways) {
    all.push_back({{"name", way.name},
                   {"step_ms", way.step_ms},
                   {"exposed_ms", way.exposed_ms},
                   {"payload_bytes_per_rank_step", way.sent_bytes},
                   {"error", way.error}});
  }
  return all;
}

}  // namespace casync::tools
