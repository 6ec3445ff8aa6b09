// SPDX-License-Identifier: Apache-2.0
// casync plan: finds what should happen to each gradient, or checks what somebody wrote.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "casync/planner/plan_file.h"
#include "casync/planner/search/compact.h"
#include "casync/planner/search/measured.h"
#include "casync/planner/search/methods.h"
#include "casync/planner/search/payload_bits.h"
#include "casync/planner/search/reasons.h"
#include "casync/planner/search/search.h"
#include "casync/planner/search/written_plan.h"
#include "casync/simulator/simulate_within.h"
#include "casync/strategies/strategy.h"
#include "tools/casync/exit_code.h"
#include "tools/casync/output_file.h"
#include "tools/casync/plan/check.h"
#include "tools/casync/planning/decided.h"
#include "tools/casync/planning/gain.h"
#include "tools/casync/planning/inputs.h"
#include "tools/casync/planning/kept_memory.h"
#include "tools/casync/planning/unequal.h"
#include "tools/casync/print_json.h"
#include "tools/casync/scenario/prediction.h"
#include "tools/casync/scenario/scenario.h"
#include "tools/casync/subcommands.h"

namespace casync::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownReferences = 6;

struct PlanOptions {
  PlanInputs inputs;
  std::string output, check;
  std::string method;    ///< "mg_wfbp", or "mg_wfbp,ring": its plan is written, and none is searched
  bool entries = false;  ///< one for each gradient
  bool json = false;
  bool nodes_are_assumed = false;  ///< --nodes is not given: the plan does not name a number of them
};

/// The shortest step times the number of steps first.
std::vector<PlanReport::Compared> by_seconds(std::vector<PlanReport::Compared> compared) {
  std::stable_sort(compared.begin(), compared.end(),
                   [](const auto& a, const auto& b) { return a.steps * a.step_s < b.steps * b.step_s; });
  return compared;
}

/// The sentences below the gain: steps to the same loss, the plan that they speak against, modes that would be better,
/// published methods that would be, and assumed costs.
std::vector<std::string> more_about(const Decided& plan) {
  std::vector<std::string> lines;
  if (plan.request.more_steps) lines = {text_of_steps(plan.gain), text_of_rejected(plan.report)};
  for (std::string& line : text_of_better(plan)) lines.push_back(std::move(line));
  for (std::string& line : text_of_shorter(plan.methods, plan.report)) lines.push_back(std::move(line));
  lines.push_back(text_of_assumed(assumed_codecs(plan.request.profile, plan.report.step)));
  std::erase(lines, "");
  return lines;
}

std::string of_what(const PlanRequest& request) {
  return text_of_setting(request.training, request.topology, request.profile);
}

std::string head_line(const PlanRequest& request, const PlanReport& report) {
  return text_of_seconds(report.simulation.step_s) + " a step predicted for " + of_what(request);
}

/// Rounds to a microsecond: predictions are not better.
double rounded(double seconds) { return std::round(seconds * 1e6) / 1e6; }

std::string how_compared(const PlanReport& report) {
  return report.all_ranks ? "by simulating all ranks" : "by simulating one rank that stands for all";
}

void print_summary(std::FILE* to, const Decided& plan, const KeptMemory& kept) {
  const PlanReport& report = plan.report;
  const Simulation& made = report.simulation;
  std::fprintf(to, "%s\n%s\n", text_of(plan.gain).c_str(), head_line(plan.request, report).c_str());
  for (const std::string& line : more_about(plan)) std::fprintf(to, "  %s\n", line.c_str());
  if (const std::string memory = kept.text(); !memory.empty()) std::fprintf(to, "  %s\n", memory.c_str());
  std::fprintf(to, "  training alone %s, exposed %s\n", text_of_seconds(made.parts.training_s).c_str(),
               text_of_seconds(made.parts.exposed_s).c_str());
  std::fprintf(to, "  compared %s with:\n", how_compared(report).c_str());
  const std::vector<PlanReport::Compared> sorted = by_seconds(report.compared);
  for (std::size_t i = 0; i < std::min(sorted.size(), kShownReferences); ++i) {
    std::fprintf(to, "  %12.3f ms  %s", sorted[i].step_s * 1e3, sorted[i].name.c_str());
    if (sorted[i].steps > 1) std::fprintf(to, ", %.2f times as many steps", sorted[i].steps);
    std::fprintf(to, "\n");
  }
  for (const PublishedMethod& method : plan.methods) {
    std::fprintf(to, "  %12.3f ms  %s (%s)\n", method.step_s * 1e3, method.name.c_str(), method.detail.c_str());
  }
}

Json summary_json(const Decided& plan) {
  const PlanRequest& request = plan.request;
  const PlanReport& report = plan.report;
  Json json{{"model", request.training.name},
            {"profile", request.profile.name},
            {"ranks", request.topology.ranks},
            {"nodes", request.topology.nodes()},
            {"step_ms", report.simulation.step_s * 1e3},
            {"uncompressed_ms", plan.gain.uncompressed_s * 1e3},
            {"gain", plan.gain.times()},
            {"steps", plan.gain.steps},
            {"mode", plan.gain.mode},
            {"modes", json_of_better(plan)},
            {"assumed", assumed_codecs(request.profile, report.step)},
            {"unequal", text_of_unequal(request.training)},
            {"training_ms", report.simulation.parts.training_s * 1e3},
            {"exposed_ms", report.simulation.parts.exposed_s * 1e3},
            {"found", report.step.name},
            {"all_ranks", report.all_ranks},
            {"evaluations", report.evaluations}};
  for (const PlanReport::Compared& other : by_seconds(report.compared)) {
    json["compared"].push_back({{"name", other.name}, {"step_ms", other.step_s * 1e3}, {"steps", other.steps}});
  }
  for (const PublishedMethod& method : plan.methods) {
    json["methods"].push_back({{"name", method.name}, {"step_ms", method.step_s * 1e3}, {"detail", method.detail}});
  }
  for (std::size_t g = 0; g < report.step.decisions.size(); ++g) {
    json["gradients"].push_back({{"name", request.training.gradients[g].spec.name},
                                 {"decision", text_of(report.step.decisions[g])},
                                 {"sync_ms", report.simulation.gradients[g].sync_s * 1e3},
                                 {"waiting_ms", report.simulation.gradients[g].waiting_s * 1e3},
                                 {"reason", report.reason[g]}});
  }
  return json;
}

Status make_plan(const PlanOptions& options) {
  CASYNC_RETURN_IF_ERROR(check_writable(options.output));
  const Result<ReadInputs> inputs = read_plan_inputs(options.inputs);
  if (!inputs) return inputs.status();
  for (const std::string& remark : inputs->remarks) std::fprintf(stderr, "casync plan: %s\n", remark.c_str());
  if (inputs->request.training.gradients.empty()) {
    return invalid_argument(options.inputs.model + ": no gradients to plan for");
  }
  Result<Decided> decided = decided_plan(options.inputs, inputs->request);
  if (!decided) return decided.status();
  Result<std::vector<PublishedMethod>> methods = published_methods(decided->request);
  if (!methods) return methods.status();
  decided->methods = std::move(*methods);
  const PlanRequest& request = decided->request;
  const PlanReport* const report = &decided->report;
  Plan plan = written_plan(request, report->step, inputs->profile_digest);
  if (options.nodes_are_assumed) plan.world.nodes.reset();  // a session on other nodes has nothing to warn of
  std::vector<GradientSpec> gradients;
  for (const TrainedGradient& gradient : request.training.gradients) gradients.push_back(gradient.spec);
  if (!options.entries) plan = compacted(plan, gradients, request.topology.ranks, payload_bits(request.facts_of));
  const Result<KeptMemory> kept = kept_memory(plan, gradients, request.topology.ranks);
  if (!kept) return kept.status();
  const StepParts& parts = report->simulation.parts;
  plan.predicted = Prediction{rounded(report->simulation.step_s), rounded(parts.training_s), rounded(parts.encode_s),
                              rounded(parts.merge_s), rounded(parts.decode_s)};
  const Result<std::string> bare = text_of_plan(plan, options.output);
  if (!bare) return bare.status();
  std::vector<std::string> head{text_of(decided->gain), head_line(request, *report)};
  for (const std::string& line : more_about(*decided)) head.push_back(line);
  const std::vector<PlanReport::Compared> sorted = by_seconds(report->compared);
  if (!sorted.empty())
    head.push_back("the best of what was compared: " + sorted[0].name + ", " + text_of_seconds(sorted[0].step_s));
  const std::string text = plan.gradients.empty() ? with_rule_comments(*bare, head, shares_of(plan, gradients))
                                                  : with_comments(*bare, head, report->reason);
  if (!options.output.empty()) CASYNC_RETURN_IF_ERROR(write_output(options.output, text));
  if (options.json) {
    Json json = summary_json(*decided);
    json["kept"] = kept->json();
    json["plan"] = text;
    print_json(json);
    return Status::ok();
  }
  if (options.output.empty()) std::printf("%s", text.c_str());
  print_summary(options.output.empty() ? stderr : stdout, *decided, *kept);
  return Status::ok();
}

/// The method that was asked for, over the strategy that was asked for or else over the one with the shorter step.
Result<PublishedMethod> chosen_method(const std::string& wanted, const PlanRequest& request) {
  const std::size_t comma = wanted.find(',');
  const std::string id = wanted.substr(0, comma);
  Result<std::vector<PublishedMethod>> methods = published_methods(request);
  if (!methods) return methods.status();
  const PublishedMethod* best = nullptr;
  std::string known;
  for (const PublishedMethod& method : *methods) {
    const std::string strategy(name_of(*method.plan.defaults.strategy));
    known += (known.empty() ? "" : ", ") + method.id + "," + strategy;
    if (method.id != id || (comma != std::string::npos && wanted.substr(comma + 1) != strategy)) continue;
    if (best == nullptr || method.step_s < best->step_s) best = &method;
  }
  if (best != nullptr) return *best;
  return invalid_argument("--method " + wanted + ": expected " +
                          (known.empty() ? "more than one rank" : "one of " + known) +
                          "; credits of large jobs, and strategies that do not carry all gradients, are left out");
}

/// Writes the plan of a published method.
Status make_method(const PlanOptions& options) {
  CASYNC_RETURN_IF_ERROR(check_writable(options.output));
  const Result<ReadInputs> inputs = read_plan_inputs(options.inputs);
  if (!inputs) return inputs.status();
  const PlanRequest& request = inputs->request;
  Result<PublishedMethod> method = chosen_method(options.method, request);
  if (!method) return method.status();
  const Result<Scenario> scenario = scenario_of(request.profile, request.training, method->plan, request.topology);
  if (!scenario) return scenario.status();
  const Result<Simulation> made = simulate_within(kAffordableTasks, *scenario, {});
  if (!made) return made.status();
  const StepParts& parts = made->parts;
  method->plan.world.profile_digest = inputs->profile_digest;
  if (options.nodes_are_assumed) method->plan.world.nodes.reset();
  method->plan.predicted = Prediction{rounded(made->step_s), rounded(parts.training_s), rounded(parts.encode_s),
                                      rounded(parts.merge_s), rounded(parts.decode_s)};
  const Result<std::string> bare = text_of_plan(method->plan, options.output);
  if (!bare) return bare.status();
  const std::string what = method->name + ": " + method->detail;
  const std::string step = text_of_seconds(made->step_s) + " a step predicted for " + of_what(request);
  const std::string text = with_comments(*bare, {what, step}, {});
  if (!options.output.empty()) CASYNC_RETURN_IF_ERROR(write_output(options.output, text));
  if (options.json) {
    const Json json{
        {"method", method->name}, {"step_ms", method->step_s * 1e3}, {"detail", method->detail}, {"plan", text}};
    print_json(json);
    return Status::ok();
  }
  if (options.output.empty()) std::printf("%s", text.c_str());
  std::fprintf(options.output.empty() ? stderr : stdout, "%s\n%s\n", what.c_str(), step.c_str());
  return Status::ok();
}

int run(PlanOptions options) {
  if (const std::string missing = missing_options(options.inputs); options.check.empty() && !missing.empty()) {
    return fail_usage("plan", missing +
                                  "; expected --profile, --model and --ranks, or --profile and --from-run, or "
                                  "--check PLAN");
  }
  if (options.check.empty() && options.inputs.nodes == 0) {
    options.inputs.nodes = options.inputs.ranks;
    options.nodes_are_assumed = options.inputs.run.empty();
  }
  if (options.inputs.ranks > 0) {
    const Status nodes = check_nodes(options.inputs.ranks, options.inputs.nodes);
    if (!nodes) return fail_usage("plan", nodes.message());
  }
  const auto check = [&] {
    return check_plan(options.check, options.inputs.model, options.inputs.ranks, options.inputs.nodes, options.json);
  };
  const Status status = !options.check.empty()    ? check()
                        : !options.method.empty() ? make_method(options)
                                                  : make_plan(options);
  return status.is_ok() ? kExitOk : fail("plan", status);
}

}  // namespace

void add_plan(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command = app.add_subcommand("plan", "Find a plan for a cluster and a model, or check one");
  add_plan_inputs(*command, options->inputs);
  command->add_option("-o,--output", options->output, "Write the plan there (default: stdout)");
  command
      ->add_option(
          "--from-run", options->inputs.run,
          "Plan for the run with this folder (CASYNC_TRACE and CASYNC_RECORD): its model, its ranks, and --profile "
          "corrected by its times")
      ->excludes("--model")
      ->excludes("--ranks")
      ->excludes("--nodes");
  command->add_option(
      "--plan", options->inputs.rules,
      "Keep all that this plan fixes, and its limits max_error and allow; the options hold for the rest");
  command->add_option("--warm-up", options->inputs.warm_up_steps, "First step that is compressed")
      ->check(CLI::Range(0, 1000000000));
  command
      ->add_option(
          "--method", options->method,
          "Write the plan of a published method instead: mg_wfbp, best_groups or bytescheduler, with the better of ps "
          "and ring, or with one of them, as in mg_wfbp,ring")
      ->excludes("--plan")
      ->excludes("--codecs")
      ->excludes("--max-error")
      ->excludes("--allow-modes");
  command->add_option("--check", options->check,
                      "Check this plan, with --model also against its gradients, and plan nothing");
  command->add_flag("--entries", options->entries,
                    "Write an entry with its reason for each gradient, instead of rules");
  command->add_flag("--json", options->json,
                    "Print the result, and the plans that it was compared with, as a JSON object");
  command->callback([=, &invocation] { invocation.exit_code = run(*options); });
}

}  // namespace casync::tools
