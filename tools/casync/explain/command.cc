// SPDX-License-Identifier: Apache-2.0
// casync explain: why a gradient is decided so, and from where on compression pays.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "casync/planner/decide.h"
#include "casync/planner/search/alternatives.h"
#include "casync/planner/search/bandwidth.h"
#include "casync/planner/search/limits.h"
#include "casync/planner/search/measured.h"
#include "casync/planner/search/payload_bits.h"
#include "casync/planner/search/reasons.h"
#include "casync/planner/search/search.h"
#include "casync/planner/search/whole_step.h"
#include "casync/planner/search/written_plan.h"
#include "tools/casync/codec_facts.h"
#include "tools/casync/exit_code.h"
#include "tools/casync/explain/crossover_picture.h"
#include "tools/casync/explain/whole_step_text.h"
#include "tools/casync/input_files.h"
#include "tools/casync/output_file.h"
#include "tools/casync/planning/codec_shares.h"
#include "tools/casync/planning/decided.h"
#include "tools/casync/planning/gain.h"
#include "tools/casync/planning/inputs.h"
#include "tools/casync/planning/kept_memory.h"
#include "tools/casync/planning/unequal.h"
#include "tools/casync/print_json.h"
#include "tools/casync/scenario/scenario.h"
#include "tools/casync/subcommands.h"

namespace casync::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownAlternatives = 12;
constexpr double kNoDifference = 0.01;  ///< part of a step by which predictions err on a quiet machine
constexpr std::size_t kTableSizes = 10, kTableBandwidths = 48;

struct ExplainOptions {
  PlanInputs inputs;
  std::string plan, gradient, svg, codec;
  bool whole_step = false;
  bool json = false;
};

/// Sets the number of ranks and nodes: as asked, else the plan's own.
Status settle_world(ExplainOptions& options, const Plan& plan) {
  PlanInputs& inputs = options.inputs;
  if (inputs.ranks == 0) {
    inputs.ranks = plan.world.ranks.value_or(0);
    if (inputs.nodes == 0) inputs.nodes = plan.world.nodes.value_or(0);
  }
  if (inputs.ranks < 1) return invalid_argument(options.plan + " does not say for how many ranks; add --ranks");
  if (inputs.nodes == 0) inputs.nodes = inputs.ranks;
  return check_nodes(inputs.ranks, inputs.nodes);
}

/// Names the file, if there is one.
Status in_file(const std::string& path, const Status& status) {
  return path.empty() ? status : Status(status.code(), path + ": " + status.message());
}

/// Adds the plan's codecs to those judged by their loss, even if the planner would not consider them.
void judge_planned(const Plan& plan, ExplainOptions& options) {
  const Decision decision =
      decide(plan, {options.gradient, DType::kFloat32, {}, 0}, options.inputs.ranks, payload_bits(facts_of));
  options.inputs.judged = {decision.codec, decision.second_hop};
}

/// `all` in their order: the best one first.
std::string what_decided(const std::vector<Alternative>& all) {
  const auto first = [&](bool Alternative::*is) { return std::find_if(all.begin(), all.end(), std::mem_fn(is)); };
  const Alternative& planned = *first(&Alternative::planned);
  const auto allowed = first(&Alternative::allowed);
  if (allowed == all.end()) return "the plan's way is not allowed, if only for its priority or warm-up";
  const Alternative& best = *allowed;
  if (!planned.allowed) return "the plan's way is not allowed; the shortest step is with " + text_of(best.decision);
  if (best.planned) return "the plan's way gives the shortest step";
  const double longer = planned.step_s - best.step_s;
  if (longer <= kNoDifference * planned.step_s)
    return "no other way makes the step shorter by a hundredth, as far as predictions can tell";
  return "another way would make the step " + text_of_seconds(longer) + " shorter: " + text_of(best.decision);
}

Json json_of(const Alternative& alternative) {
  return {{"decision", text_of(alternative.decision)},
          {"planned", alternative.planned},
          {"allowed", alternative.allowed},
          {"step_ms", alternative.step_s * 1e3},
          {"alone_ms", alternative.alone_s * 1e3},
          {"wire_ms", alternative.wire_s * 1e3},
          {"codec_ms", alternative.codec_s * 1e3},
          {"messages_ms", alternative.messages_s * 1e3}};
}

Status explain_gradient(const ExplainOptions& options, const PlanRequest& request, const PlannedStep& step,
                        const KeptMemory& kept) {
  const Result<std::vector<Alternative>> all = alternatives(request, step, options.gradient);
  if (!all) return all.status();
  const std::string decided = what_decided(*all);
  if (options.json) {
    Json json{{"gradient", options.gradient},
              {"what_decided", decided},
              {"kept", kept.json()},
              {"nearest_partitions", all->front().nearest_partitions},
              {"alternatives", Json::array()}};
    for (const Alternative& alternative : *all) json["alternatives"].push_back(json_of(alternative));
    print_json(json);
    return Status::ok();
  }
  std::printf("%s: %s\n", options.gradient.c_str(), decided.c_str());
  if (const std::string memory = kept.text(); !memory.empty()) std::printf("  %s\n", memory.c_str());
  std::printf("  %12s %12s %12s %12s %12s\n", "step", "alone", "wire", "codec", "messages");
  for (std::size_t i = 0; i < all->size(); ++i) {
    const Alternative& alternative = (*all)[i];
    if (i >= kShownAlternatives && !alternative.planned) continue;
    const bool assumed = !assumed_codecs(request.profile, {"", {alternative.decision}, 0}).empty();
    std::printf("%s %12s %12s %12s %12s %12s  %s%s%s\n", alternative.planned ? ">" : " ",
                text_of_seconds(alternative.step_s).c_str(), text_of_seconds(alternative.alone_s).c_str(),
                text_of_seconds(alternative.wire_s).c_str(), text_of_seconds(alternative.codec_s).c_str(),
                text_of_seconds(alternative.messages_s).c_str(), text_of(alternative.decision).c_str(),
                alternative.allowed ? "" : " (not allowed)", assumed ? " (assumed cost)" : "");
  }
  if (all->front().nearest_partitions) {
    std::printf("  each codec with the number of partitions nearest to the plan's: the others would take long\n");
  }
  return Status::ok();
}

/// The cell at the bandwidth at which compression just pays.
const Crossover::Cell& cell_at(const Crossover& crossover, double bandwidth, std::size_t size) {
  std::size_t row = 0;
  while (crossover.bytes_per_second[row] < bandwidth) ++row;
  return crossover.cells[row * crossover.bytes.size() + size];
}

std::string where_it_pays(const std::optional<double>& below) {
  if (!below) return "compression pays at no bandwidth from " + text_of_bandwidth(kSlowestBandwidth) + " on";
  if (*below >= kFastestBandwidth)
    return "compression saves time at every bandwidth up to " + text_of_bandwidth(kFastestBandwidth);
  return "compression stops paying above " + text_of_bandwidth(*below);
}

/// The same as a cell of a table.
std::string pays_up_to(const std::optional<double>& below) {
  if (!below) return "never";
  return text_of_bandwidth(*below) + (*below >= kFastestBandwidth ? " and above" : "");
}

/// All that is to be said of a whole step.
struct ExplainedStep {
  Decided decided;
  std::optional<double> pays_below;  ///< as compression_pays_below()
  bool pays_in_mode = true;          ///< in the plan's mode; false: if all ranks exchange with all in every step
  KeptMemory kept;
  CodecShares shares;
  std::vector<std::string> assumed;  ///< codecs whose cost nobody has measured
};

/// Explains the step of the plan that is given, else of the one that `casync plan` finds (null).
Result<ExplainedStep> explained_step(const ExplainOptions& options, const PlanRequest& asked, const Plan* plan) {
  Result<Decided> decided = plan == nullptr ? decided_plan(options.inputs, asked) : given_plan(*plan, asked);
  if (!decided) return plan == nullptr ? decided.status() : in_file(options.plan, decided.status());
  std::vector<GradientSpec> gradients;
  for (const TrainedGradient& gradient : decided->request.training.gradients) gradients.push_back(gradient.spec);
  const Plan written = plan == nullptr ? written_plan(decided->request, decided->report.step, "") : *plan;
  const Result<KeptMemory> kept = kept_memory(written, gradients, decided->request.topology.ranks);
  if (!kept) return kept.status();
  ExplainedStep explained{std::move(*decided), {}, true, *kept, {}, {}};
  const PlanRequest& request = explained.decided.request;
  const PlannedStep& step = explained.decided.report.step;
  explained.assumed = assumed_codecs(request.profile, step);
  PlanRequest searched = request;
  explained.pays_in_mode = check_searched_mode(request.mode).is_ok();
  if (!explained.pays_in_mode) searched.mode = {};
  const Result<std::optional<double>> below = compression_pays_below(searched);
  if (!below) return below.status();
  explained.pays_below = *below;
  for (std::size_t g = 0; g < step.decisions.size(); ++g) {
    explained.shares.add(codecs_of(step.decisions[g]), gradients[g]);
  }
  return explained;
}

Json json_of(const ExplainedStep& step) {
  const PlanRequest& request = step.decided.request;
  const Gain& gain = step.decided.gain;
  return {{"compress", gain.compresses},
          {"bytes_per_second", bandwidth_of(request)},
          {"pays_below_bytes_per_second", step.pays_below ? Json(*step.pays_below) : Json()},
          {"codecs", step.shares.json()},
          {"kept", step.kept.json()},
          {"gain", gain.times()},
          {"steps", gain.steps},
          {"mode", gain.mode},
          {"unequal", text_of_unequal(request.training)},
          {"modes", json_of_better(step.decided)},
          {"uncompressed_ms", gain.uncompressed_s * 1e3},
          {"planned_ms", gain.planned_s * 1e3},
          {"assumed", step.assumed}};
}

void print_step(const ExplainedStep& step) {
  const PlanRequest& request = step.decided.request;
  const PlanReport& report = step.decided.report;
  const Gain& gain = step.decided.gain;
  std::printf("compress: %s\n%s\n", gain.compresses ? "yes" : "no", text_of(gain).c_str());
  const double training_s = report.simulation.parts.training_s;
  std::printf("the program waits for gradients: %s of a step uncompressed, %s with this plan\n",
              text_of_seconds(gain.uncompressed_s - training_s).c_str(),
              text_of_seconds(gain.planned_s - training_s).c_str());
  std::printf("%s\n", step.shares.text().c_str());
  if (const std::string memory = step.kept.text(); !memory.empty()) std::printf("%s\n", memory.c_str());
  if (request.more_steps) {
    for (const std::string& line : {text_of_steps(gain), text_of_rejected(report)}) {
      if (!line.empty()) std::printf("%s\n", line.c_str());
    }
    for (const std::string& line : text_of_better(step.decided)) std::printf("%s\n", line.c_str());
  }
  std::printf("the slowest link has %s; %s%s\n", text_of_bandwidth(bandwidth_of(request)).c_str(),
              where_it_pays(step.pays_below).c_str(),
              step.pays_in_mode ? "" : ", if all ranks exchange with all in every step");
  if (!step.assumed.empty()) std::printf("%s\n", text_of_assumed(step.assumed).c_str());
  std::printf("\n");
}

/// Prints the explanation of a step, or adds it to the JSON that is printed later. Nothing without gradients.
Status explain_step(const ExplainOptions& options, const PlanRequest& asked, const Plan* plan, Json& json) {
  if (asked.training.gradients.empty()) return Status::ok();
  const Result<ExplainedStep> step = explained_step(options, asked, plan);
  if (!step) return step.status();
  if (options.json) {
    json["step"] = json_of(*step);
  } else {
    print_step(*step);
  }
  return Status::ok();
}

Status explain_crossover(const ExplainOptions& options, const PlanRequest& request, const Plan* plan) {
  Json whole;
  CASYNC_RETURN_IF_ERROR(explain_step(options, request, plan, whole));
  const Result<Crossover> table = crossover(request, kTableBandwidths, kTableSizes);
  if (!table) return table.status();
  const std::string title =
      "the fastest way to synchronize one gradient alone, " + text_of_cluster(request.topology, request.profile);
  if (!options.svg.empty()) {
    const Result<Crossover> fine = crossover(request, 32, 36);
    if (!fine) return fine.status();
    CASYNC_RETURN_IF_ERROR(write_output(options.svg, crossover_svg(*fine, bandwidth_of(request), title)));
  }
  Json json = Json::array();
  if (!options.json) {
    std::printf("%s\n  %10s  %22s  %s\n", title.c_str(), "size", "compression pays below", "with");
  }
  for (std::size_t size = 0; size < table->bytes.size(); ++size) {
    const std::optional<double> below = table->pays_below[size];
    const std::string with = below ? text_of(cell_at(*table, *below, size).decision) : "";
    if (options.json) {
      json.push_back({{"bytes", table->bytes[size]},
                      {"pays_up_to_bytes_per_second", below ? Json(*below) : Json()},
                      {"with", with}});
      continue;
    }
    std::printf("  %10s  %22s  %s\n", text_of_size(table->bytes[size]).c_str(), pays_up_to(below).c_str(),
                with.c_str());
  }
  whole["title"] = title;
  whole["crossover"] = json;
  if (options.json) print_json(whole);
  return Status::ok();
}

/// Fixes the one codec for all gradients that may have any.
void use_everywhere(const CodecChoice& codec, PlanRequest& request) {
  Limits open;
  open.offers = {0};
  if (request.limits.empty()) request.limits.assign(request.training.gradients.size(), open);
  for (Limits& limits : request.limits) {
    if (!limits.offers.empty()) limits.codec = limits.second_hop = codec;
  }
}

/// Explains a step by its terms, next to the closed form.
Status explain_terms(const ExplainOptions& options, PlanRequest request) {
  request.more_steps = nullptr;  // the closed form is of a step's time
  if (!options.codec.empty() && !request.codecs.empty()) use_everywhere(request.codecs.front().choice, request);
  const Result<WholeStep> whole = whole_step(request);
  if (!whole) return whole.status();
  const std::string codecs = options.codec.empty() ? "best plan" : options.codec;
  if (options.json) {
    print_json(whole_step_json(*whole, codecs));
  } else {
    std::printf("%s", whole_step_text(request, *whole, codecs).c_str());
  }
  return Status::ok();
}

Status explain(ExplainOptions options) {
  const Result<Plan> plan = options.plan.empty() ? Result<Plan>(Plan{}) : read_plan_input(options.plan);
  if (!plan) return plan.status();
  if (plan->credit_bytes > 0 || !plan->groups.empty()) {
    return plan_error(options.plan + (plan->credit_bytes > 0 ? ": credit_bytes" : ": groups") +
                      ", with which no alternatives are compared: leave it out, or ask casync simulate for the step");
  }
  CASYNC_RETURN_IF_ERROR(settle_world(options, *plan));
  if (!options.codec.empty()) options.inputs.codecs = {options.codec};
  if (!options.gradient.empty()) judge_planned(*plan, options);
  const Result<ReadInputs> inputs = read_plan_inputs(options.inputs);
  if (!inputs) return inputs.status();
  for (const std::string& remark : inputs->remarks) std::fprintf(stderr, "casync explain: %s\n", remark.c_str());
  PlanRequest request = inputs->request;
  if (!plan->world.profile_digest.empty() && plan->world.profile_digest != inputs->profile_digest) {
    std::fprintf(stderr, "casync explain: the plan was made from another profile than %s\n",
                 options.inputs.profile.c_str());
  }
  if (plan->coordinated) std::fprintf(stderr, "casync explain: %s: %s\n", options.plan.c_str(), kUncoordinated);
  if (options.whole_step) return explain_terms(options, request);
  if (options.gradient.empty()) return explain_crossover(options, request, options.plan.empty() ? nullptr : &*plan);
  if (request.mode == SyncMode{}) request.mode = plan->mode;
  request.seed = plan->seed;
  const Result<PlannedStep> step = step_of(*plan, request);
  if (!step) return in_file(options.plan, step.status());
  std::vector<GradientSpec> explained;
  for (const TrainedGradient& gradient : request.training.gradients) {
    if (gradient.spec.name == options.gradient) explained.push_back(gradient.spec);
  }
  const Result<KeptMemory> kept = kept_memory(*plan, explained, request.topology.ranks);
  if (!kept) return kept.status();
  return explain_gradient(options, request, *step, *kept);
}

int run(const ExplainOptions& options) {
  if (options.whole_step && !options.plan.empty()) {
    return fail_usage("explain",
                      "--whole-step finds its plans itself: give the file as --rules, whose choices it keeps, "
                      "and --ranks");
  }
  PlanInputs given = options.inputs;
  if (!options.plan.empty()) given.ranks = std::max(given.ranks, 1);  // the plan says for how many
  if (const std::string missing = missing_options(given); !missing.empty()) {
    return fail_usage("explain", missing + "; expected --profile, --model and --ranks");
  }
  const Status status = explain(options);
  return status.is_ok() ? kExitOk : fail("explain", status);
}

}  // namespace

void add_explain(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand("explain", "Give the reasons for a decision, and say where compression pays");
  CLI::Option* gradient =
      command->add_option("gradient", options->gradient,
                          "Compare the alternatives for this gradient (default: say where compression pays)");
  command->add_option("--plan", options->plan,
                      "Plan file (default: for a gradient, no compression; for the step, the planner's)");
  add_plan_inputs(*command, options->inputs);
  CLI::Option* whole =
      command->add_flag("--whole-step", options->whole_step,
                        "Compare the terms of a step, with and without compression, with a closed form");
  whole->excludes(gradient);
  CLI::Option* rules = command->add_option(
      "--rules", options->inputs.rules,
      "Keep all that this plan fixes, and its limits max_error and allow, as casync plan --plan does");
  command->add_option("--svg", options->svg, "Without a gradient: also write a picture of where compression pays")
      ->excludes(whole)
      ->excludes(gradient);
  command
      ->add_option("--codec", options->codec, "With --whole-step: encode everything but small vectors with this codec")
      ->needs(whole)
      ->excludes(rules)
      ->excludes("--codecs")
      ->excludes("--max-error");
  command->add_flag("--json", options->json, "Print a JSON object");
  command->callback([=, &invocation] { invocation.exit_code = run(*options); });
}

}  // namespace casync::tools
