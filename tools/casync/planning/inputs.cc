// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/planning/inputs.h"

#include <filesystem>
#include <utility>

#include "casync/model/mode_text.h"
#include "casync/planner/loss_table.h"
#include "casync/planner/plan_library.h"
#include "casync/planner/search/measured.h"
#include "compll/codec/codec.h"
#include "tools/casync/codec_facts.h"
#include "tools/casync/codecs_option.h"
#include "tools/casync/input_files.h"
#include "tools/casync/measurement/measured_run.h"
#include "tools/casync/number_within.h"
#include "tools/casync/planning/gradient_samples.h"
#include "tools/casync/planning/kept_memory.h"
#include "tools/casync/planning/losses.h"
#include "tools/casync/planning/overlap.h"
#include "tools/casync/planning/rules.h"
#include "tools/casync/planning/unequal.h"
#include "tools/casync/scenario/scenario.h"

namespace casync::tools {
namespace {

constexpr int kMostRanks = 65536;
constexpr std::uint32_t kMostSteps = 1'000'000'000;  // as plan files have it

Status take_description(const PlanInputs& inputs, PlanRequest& request) {
  Result<Training> training = read_model_input(inputs.model);
  if (!training) return training.status();
  request.training = with_equal_shards(std::move(*training), inputs.ranks);
  request.topology = place(inputs.ranks, inputs.nodes);
  return Status::ok();
}

/// Ranks and training as they ran, and the profile as it was there.
Status take_run(const std::string& path, ReadInputs& read) {
  const Result<TraceFolder> folder = read_trace_folder(path);
  if (!folder) return folder.status();
  Result<MeasuredRun> run = measured_run(*folder);
  if (!run) return run.status();
  if (run->scenario.mode.is_local()) {
    return invalid_argument(path + ": a run with `" + text_of(run->scenario.mode) +
                            "`, which exchanges differences of parameters: plan from a run that exchanges gradients; " +
                            "--local-sgd plans rounds");
  }
  Result<Correction> correction = corrected(*run, read.request.profile);
  if (!correction) return correction.status();
  for (const std::string& change : correction->changes) read.remarks.push_back(path + ": " + change);
  read.request.profile = std::move(correction->profile);
  read.request.topology = run->scenario.topology;
  read.request.training = std::move(run->recorded);
  return Status::ok();
}

/// Losses on the samples of gradients that were asked for, or that a run left.
Result<Losses> read_losses(const PlanInputs& inputs, ReadInputs& read) {
  std::string path = inputs.gradients;
  if (path.empty() && !inputs.run.empty()) {
    const std::string left = inputs.run + "/gradients.safetensors";
    std::error_code error;  // of a file that cannot be looked at: reading it names why
    if (std::filesystem::exists(left, error) || error) path = left;
  }
  if (path.empty()) return Losses();
  Result<GradientSamples> samples = read_gradient_samples(path, read.request.training);
  if (!samples) return samples.status();
  read.remarks.insert(read.remarks.end(), samples->remarks.begin(), samples->remarks.end());
  return Losses(std::move(samples->values));
}

/// Codecs that are left out because nobody measured them, and those that are priced without having been.
void remark_on_costs(const PlanInputs& inputs, ReadInputs& read) {
  const Profile& profile = read.request.profile;
  std::string assumed, left_out, untrained;
  for (const CodecOffer& offer : read.request.codecs) {
    const bool trained = more_steps(offer.choice, offer.choice).has_value();
    if (inputs.goal_is_loss && !trained && offer.error > 0)
      untrained += (untrained.empty() ? "" : ", ") + text_of(offer.choice);
    if (!is_measured(profile, offer.choice)) assumed += (assumed.empty() ? "" : ", ") + text_of(offer.choice);
  }
  for (const std::string& name : compll::codec_names()) {
    const bool open = inputs.codecs.empty() && measures_codecs(profile) && name != "none";
    if (open && !is_measured(profile, {name, {}})) left_out += (left_out.empty() ? "" : ",") + name;
  }
  if (!assumed.empty()) {
    read.remarks.push_back(inputs.profile + " has no costs of " + assumed +
                           ": they are assumed to run at the memory's speed, which is the most that they could; "
                           "`casync profile --codecs` measures them");
  }
  if (!untrained.empty()) {
    read.remarks.push_back("no training has measured the loss of " + untrained +
                           ": it is planned as if it took no more steps than no compression");
  }
  if (!left_out.empty()) {
    read.remarks.push_back(inputs.profile + " has no costs of these codecs, which are left out: " + left_out +
                           "; `casync profile --codecs` measures codecs, `--codecs` here plans with assumed costs");
  }
}

}  // namespace

std::string missing_options(const PlanInputs& inputs) {
  std::vector<std::string> missing;
  if (inputs.profile.empty()) missing.emplace_back("--profile");
  if (inputs.run.empty() && inputs.model.empty()) missing.emplace_back("--model");
  if (inputs.run.empty() && inputs.ranks == 0) missing.emplace_back("--ranks");
  std::string text;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == missing.size() ? " and " : ", ") + missing[i];
  }
  return text.empty() ? "" : text + (missing.size() == 1 ? " is missing" : " are missing");
}

void add_plan_inputs(CLI::App& command, PlanInputs& inputs) {
  command.add_option("--profile", inputs.profile,
                     "Costs of the cluster's machines and links (casync profile, examples/profiles)");
  command.add_option("--model", inputs.model,
                     "Gradients, and when they are ready and needed (CASYNC_RECORD, examples/models)");
  command.add_option("-n,--ranks", inputs.ranks, "Number of ranks")->check(CLI::Range(1, kMostRanks));
  command.add_option("--nodes", inputs.nodes, "Number of machines (default: one for each rank)")
      ->check(CLI::Range(1, kMostRanks));
  CLI::Option* codecs =
      add_codecs_option(command, inputs.codecs, "Codecs that a plan may use, as in int8,int4:block=64");
  command
      .add_option("--max-error", inputs.max_error,
                  "Allow every codec with at most this relative squared error, instead of the trained codecs; it is "
                  "measured on --gradients if given, else on typical values (default with --goal step: 0.03)")
      ->check(number_within(0.0, 1.0))
      ->excludes(codecs);
  command
      .add_option_function<std::string>(
          "--goal", [&inputs](const std::string& goal) { inputs.goal_is_loss = goal == "loss"; },
          "loss: the least time to the same loss, by the project's trainings with each codec; step: the least "
          "time of a step")
      ->check(CLI::IsMember({"loss", "step"}))
      ->default_str("loss");
  command
      .add_option(
          "--most-steps", inputs.most_steps,
          "With --goal loss: only codecs that need at most this many times the steps to the same loss; not with "
          "--codecs or --max-error")
      ->check(number_within(1.0, 1000.0))
      ->capture_default_str();
  command.add_option("--gradients", inputs.gradients,
                     "Recorded gradients (CASYNC_RECORD, safetensors), on which the codecs' errors are measured");
  CLI::Option* local = command
                           .add_option("--local-sgd", inputs.mode.every,
                                       "Exchange differences of parameters every so many steps, instead of gradients")
                           ->check(CLI::Range(1u, kMostSteps));
  command.add_option("--from-step", inputs.mode.from_step, "First step of local SGD; earlier steps exchange gradients")
      ->check(CLI::Range(0u, kMostSteps))
      ->needs(local);
  CLI::Option* late =
      command.add_option("--staleness", inputs.mode.staleness, "Apply the result of a step this many steps later")
          ->check(CLI::Range(0u, kMostStaleness))
          ->excludes(local);
  command
      .add_flag(
          "--allow-modes", inputs.allow_modes,
          "Also choose local_sgd or staleness, if by the trainings the same loss then takes less time; gossip and "
          "asynchronous are never chosen, because no training has measured them")
      ->excludes(local)
      ->excludes(late);
}

/// Leaves out codecs that a session refuses for gradients with this residual memory.
void leave_out_by_memory(PlanRequest& request) {
  for (Limits& limits : request.limits) {
    if (!limits.residual_memory) continue;
    std::erase_if(limits.offers, [&](std::size_t at) {
      return !check_residual_memory(*limits.residual_memory, request.codecs[at].choice);
    });
  }
}

std::string digest_of_file(const std::string& text) {
  std::uint64_t digest = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return compll::text_of_digest(digest);
}

Result<ReadInputs> read_plan_inputs(const PlanInputs& inputs) {
  if (inputs.allow_modes && !inputs.goal_is_loss) {
    return invalid_argument(
        "--allow-modes with --goal step, expected --goal loss: a mode is weighed by the steps to the same loss");
  }
  ReadInputs read;
  PlanRequest& request = read.request;
  Result<Profile> profile = read_profile_input(inputs.profile);
  if (!profile) return profile.status();
  request.profile = std::move(*profile);
  const Result<std::string> text = text_of_input("profile file", inputs.profile);
  if (!text) return text.status();
  read.profile_digest = digest_of_file(*text);
  CASYNC_RETURN_IF_ERROR(inputs.run.empty() ? take_description(inputs, request) : take_run(inputs.run, read));
  request.facts_of = facts_of;
  request.warm_up_steps = inputs.warm_up_steps;
  request.mode = inputs.mode;
  if (inputs.goal_is_loss) {
    request.more_steps = [](const CodecChoice& first, const CodecChoice& second) {
      return more_steps(first, second).value_or(0);
    };
    if (inputs.by_loss()) request.most_more_steps = inputs.most_steps - 1;
  }
  Result<Losses> losses = read_losses(inputs, read);
  if (!losses) return losses.status();
  CASYNC_RETURN_IF_ERROR(take_limits(inputs, *losses, read));
  leave_out_by_memory(request);
  remark_on_costs(inputs, read);
  for (const std::string& remark : {text_of_no_overlap(request.training), text_of_unequal(request.training)}) {
    if (!remark.empty()) read.remarks.push_back(remark);
  }
  if (inputs.allow_modes && trained_modes().empty()) {
    read.remarks.push_back(
        "--allow-modes: no training has measured how many steps local SGD or staleness needs, so "
        "every step exchanges; tests/bench/loss/run.py --modes --write measures it");
  }
  return read;
}

}  // namespace casync::tools
