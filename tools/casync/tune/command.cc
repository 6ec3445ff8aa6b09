// SPDX-License-Identifier: Apache-2.0
// casync tune: record, profile, plan and measure in one command.
#include <memory>

#include "base/env.h"
#include "tools/casync/codecs_option.h"
#include "tools/casync/device_check.h"
#include "tools/casync/exit_code.h"
#include "tools/casync/launch/job.h"
#include "tools/casync/number_within.h"
#include "tools/casync/own_path.h"
#include "tools/casync/subcommands.h"
#include "tools/casync/tune/tuning.h"

namespace casync::tools {
namespace {

/// This command again, once per local rank.
int start_ranks(const TuneOptions& options) {
  const Result<std::string> program = own_path();
  if (!program) return fail("tune", program.status());
  JobOptions job;
  job.ranks = options.ranks;
  job.prefix = false;
  job.program = {*program,    "tune",
                 "--steps",   std::to_string(options.steps),
                 "--timeout", std::to_string(options.phase_s),
                 "-o",        options.directory};
  job.program.insert(job.program.end(), {"--codecs", joined(options.codecs), "--goal", options.goal});
  if (!options.profile.empty()) job.program.insert(job.program.end(), {"--profile", options.profile});
  if (!options.device.empty()) job.program.insert(job.program.end(), {"--device", options.device});
  if (options.fresh) job.program.push_back("--fresh");
  if (options.json) job.program.push_back("--json");
  job.program.push_back("--");
  job.program.insert(job.program.end(), options.program.begin(), options.program.end());
  const Result<JobEnd> end = run_job(job);
  return end ? end->exit_code : fail("tune", end.status());
}

/// Refuses a device on which rank 0 could not measure its profile. With a given profile it is only a name.
Status check_profile_device(const TuneOptions& options, Rank rank) {
  if (rank != 0 || options.device.empty()) return Status::ok();
  Status status = check_device(options.device);
  const bool is_name = status.code() == StatusCode::kUnavailable;
  return is_name && !options.profile.empty() ? Status::ok() : status;
}

Status tune(const TuneOptions& options, const runtime::Launch& launch) {
  const Status device = check_profile_device(options, launch.rank);  // forks, so it comes ahead of the ranks' threads
  Result<std::unique_ptr<TuneRanks>> ranks = TuneRanks::join(launch, options.phase_s);
  CASYNC_RETURN_IF_ERROR(ranks.status());
  const Status status = device ? run_tuning(options, **ranks) : device;
  if (!status) (*ranks)->give_up(status);
  const Status closed = (*ranks)->close();
  return status ? closed : status;
}

int run_tune(const TuneOptions& options) {
  if (options.program.empty()) {
    return fail_usage("tune", "no program; write it after --, as in: casync tune -n 2 -- python3 train.py");
  }
  if (options.ranks > 0) return start_ranks(options);
  const Result<runtime::Launch> launch = runtime::read_launch({}, foreign_env_text);
  if (!launch) return fail("tune", launch.status());
  if (launch->ranks < 2) {
    return fail_usage("tune", "-n is missing, and no launcher says how many ranks there are");
  }
  const Status status = tune(options, *launch);
  if (status) return kExitOk;
  // One rank speaks: every rank ends with the same cause.
  return launch->rank == 0 ? fail("tune", status) : exit_code_of(status);
}

}  // namespace

void add_tune(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* command =
      app.add_subcommand("tune", "Record, profile, plan and measure a training, and keep the best plan");
  command->add_option("-n,--ranks", options->ranks, "Local ranks to start (default: those of the launcher)")
      ->check(CLI::Range(2, 1024));
  command->add_option("--steps", options->steps, "Steps of each measured training")
      ->check(CLI::Range(5, 100000))
      ->capture_default_str();
  add_codecs_option(*command, options->codecs, "Single codecs to measure in addition to the plan")
      ->default_str("[" + joined(options->codecs) + "]");
  command
      ->add_option("--goal", options->goal,
                   "loss: the least time to the same loss, by the project's trainings with each codec; step: the least "
                   "time of a step")
      ->check(CLI::IsMember({"loss", "step"}))
      ->capture_default_str();
  command->add_option("--timeout", options->phase_s, "Limit of each phase, in seconds")
      ->check(number_within(1.0, 1e6))
      ->capture_default_str();
  command->add_option("--profile", options->profile, "Use this profile (default: measure one between the ranks)");
  command->add_option("--device", options->device,
                      "Measure codecs on cpu, or on the GPU of the gradients: cuda or cuda:1 (default: cpu)");
  command->add_option("-o,--output", options->directory, "Folder for the plan, the report and all measurements")
      ->capture_default_str();
  command->add_flag("--fresh", options->fresh, "Measure everything, also the phases that an earlier call completed");
  command->add_flag("--json", options->json, "Print the result as a JSON object");
  command->footer(
      "The program follows --, as in: casync tune -n 2 -- python3 train.py\n"
      "On several machines: torchrun ... -m casync tune -- python3 train.py, or mpirun, or srun.\n"
      "The program runs once for each measurement, ends after --steps steps, and must not name a codec or a plan.");
  command->callback([=, &invocation] {
    if (options->device == "cpu") options->device.clear();
    options->program = invocation.program;
    invocation.exit_code = run_tune(*options);
  });
}

}  // namespace casync::tools
