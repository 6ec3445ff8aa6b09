// SPDX-License-Identifier: Apache-2.0
// casync tune: record, profile, plan and measure in one command.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "tools/casync/exit_code.h"
#include "tools/casync/run/job.h"
#include "tools/casync/subcommands.h"
#include "tools/casync/tune/phase.h"
#include "tools/casync/tune/result.h"

namespace casync::tools {
namespace {

namespace fs = std::filesystem;

struct TuneOptions {
  int ranks = 0;
  int steps = 20;
  double phase_s = 600;
  std::string directory = "tuned";
  std::string profile;  ///< "": measured
  std::string device;   ///< as casync profile's
  std::vector<std::string> codecs = {"int8", "int4"};
  bool fresh = false, json = false;
  std::vector<std::string> program;
};

std::string own_path() { return fs::read_symlink("/proc/self/exe").string(); }

/// The identity of the phases in the folder: another program, number of steps or of ranks starts anew.
std::string identity_of(const TuneOptions& options, int ranks) {
  nlohmann::ordered_json json{{"ranks", ranks}, {"steps", options.steps}, {"program", options.program}};
  return json.dump();
}

/// The phases of one `casync tune` on one rank.
class Tuning {
 public:
  Tuning(const TuneOptions& options, TuneRanks& ranks) : options_(options), ranks_(ranks) {}

  Status run() {
    CASYNC_RETURN_IF_ERROR(prepare());
    CASYNC_RETURN_IF_ERROR(train("uncompressed", {"CASYNC_CODEC=none", "CASYNC_RECORD=" + path("record")}));
    CASYNC_RETURN_IF_ERROR(profile());
    CASYNC_RETURN_IF_ERROR(plan());
    CASYNC_RETURN_IF_ERROR(train("plan", {"CASYNC_PLAN=" + path("plan.txtpb"), "CASYNC_RECORD=" + path("plan")}));
    for (const std::string& codec : options_.codecs) CASYNC_RETURN_IF_ERROR(train(codec, {"CASYNC_CODEC=" + codec}));
    return ranks_.rank() == 0 ? summarize() : Status::ok();
  }

 private:
  std::string path(const std::string& name) const { return options_.directory + "/" + name; }
  std::string log_of(const std::string& phase) const {
    return path(phase + ".rank" + std::to_string(ranks_.rank()) + ".log");
  }

  /// The folder, on each machine. Rank 0 decides if results in it can be kept.
  Status prepare() {
    std::error_code error;
    fs::create_directories(options_.directory, error);
    if (error) return unavailable(options_.directory + " cannot be made: " + error.message());
    const std::string mine = identity_of(options_, ranks_.ranks());
    std::string known;
    std::ifstream file(path("tune.json"));
    std::getline(file, known);
    const Result<std::string> keep = ranks_.from_rank_0("kept", !options_.fresh && known == mine ? "yes" : "no");
    CASYNC_RETURN_IF_ERROR(keep.status());
    if (*keep == "yes") return Status::ok();
    if (ranks_.rank() == 0) {
      for (const char* name : {"record", "uncompressed", "plan", "profile.txtpb", "plan.txtpb", "report.html"}) {
        fs::remove_all(path(name), error);
      }
      for (const std::string& codec : options_.codecs) fs::remove_all(path(codec), error);
      std::ofstream(path("tune.json")) << mine << "\n";
    }
    return ranks_.meet("prepared");
  }

  /// True on all ranks if rank 0 has this phase's result from an earlier, interrupted call.
  Result<bool> is_done(const std::string& phase, const std::string& result) {
    ++phase_;
    const Result<std::string> found = ranks_.from_rank_0(phase, fs::exists(result) ? "yes" : "no");
    CASYNC_RETURN_IF_ERROR(found.status());
    if (ranks_.rank() == 0) {
      std::fprintf(stderr, "casync tune: %d of %zu: %s%s\n", phase_, 4 + options_.codecs.size(), phase.c_str(),
                   *found == "yes" ? " (kept from an earlier call)" : "");
    }
    return *found == "yes";
  }

  Status train(const std::string& name, std::vector<std::string> variables) {
    const Result<bool> done = is_done("training, " + name, path(name) + "/rank0.trace.json");
    CASYNC_RETURN_IF_ERROR(done.status());
    if (*done) return Status::ok();
    variables.push_back("CASYNC_TRACE=" + path(name));
    variables.push_back("CASYNC_STEPS=" + std::to_string(options_.steps));
    return run_phase(ranks_, {"training, " + name,
                              options_.program,
                              variables,
                              {"CASYNC_PLAN", "CASYNC_CODEC", "CASYNC_RECORD"},
                              log_of(name)});
  }

  Status profile() {
    const Result<bool> done = is_done("profile of codecs and links", path("profile.txtpb"));
    CASYNC_RETURN_IF_ERROR(done.status());
    if (*done) return Status::ok();
    if (!options_.profile.empty()) return take_profile();
    const std::string part = path("profile.part");
    std::vector<std::string> command = {own_path(), "profile", "--quick", "-o", part};
    if (!options_.device.empty()) command.insert(command.end(), {"--device", options_.device});
    CASYNC_RETURN_IF_ERROR(run_phase(
        ranks_,
        {"profile", command, {}, {"CASYNC_PLAN", "CASYNC_CODEC", "CASYNC_RECORD", "CASYNC_TRACE"}, log_of("profile")}));
    // A profile that was cut short is never taken for a whole one.
    if (ranks_.rank() == 0) fs::rename(part, path("profile.txtpb"));
    return Status::ok();
  }

  Status take_profile() {
    if (ranks_.rank() == 0) {
      std::error_code error;
      fs::copy_file(options_.profile, path("profile.txtpb"), error);
      if (error) ranks_.give_up(invalid_argument(options_.profile + " cannot be copied: " + error.message()));
    }
    return ranks_.meet("profile");
  }

  /// Rank 0 plans; every machine gets the file.
  Status plan() {
    const Result<bool> done = is_done("plan", path("plan.txtpb"));
    CASYNC_RETURN_IF_ERROR(done.status());
    std::string text;
    if (ranks_.rank() == 0) {
      const Status made = *done ? Status::ok() : make_plan();
      std::ifstream file(path("plan.txtpb"), std::ios::binary);
      text.assign(std::istreambuf_iterator<char>(file), {});
      if (!made || text.empty()) ranks_.give_up(made ? unavailable(path("plan.txtpb") + " cannot be read") : made);
    }
    const Result<std::string> told = ranks_.from_rank_0("plan", text);
    CASYNC_RETURN_IF_ERROR(told.status());
    if (ranks_.rank() != 0 && !fs::exists(path("plan.txtpb"))) std::ofstream(path("plan.txtpb")) << *told;
    return ranks_.meet("planned");
  }

  Status make_plan() {
    return run_to_end(
        ranks_, {"plan",
                 {own_path(), "plan", "--profile", path("profile.txtpb"), "--model", path("record/model.txtpb"),
                  "--gradients", path("record/gradients.safetensors"), "-n", std::to_string(ranks_.ranks()), "--nodes",
                  std::to_string(ranks_.nodes()), "-o", path("plan.txtpb")},
                 {},
                 {},
                 log_of("plan")});
  }

  /// Writes the report, beside the uncompressed training, with the prediction next to it if this machine has the traces
  /// of all ranks.
  Status make_report() {
    std::vector<std::string> program = {own_path(),           "report", path("plan"),       "--beside",
                                        path("uncompressed"), "-o",     path("report.html")};
    bool all = true;
    for (Rank rank = 0; rank < ranks_.ranks(); ++rank) {
      all = all && fs::exists(path("plan") + "/rank" + std::to_string(rank) + ".trace.json");
    }
    if (all) program.insert(program.end(), {"--profile", path("profile.txtpb")});
    return run_to_end(ranks_, {"report", std::move(program), {}, {}, log_of("report")});
  }

  Status summarize() {
    std::vector<TunedWay> ways;
    const auto add = [&](const std::string& name, const std::string& codec) {
      Result<TunedWay> way = measured_way(name, path(name), codec);
      if (way) ways.push_back(std::move(*way));
      return way.status();
    };
    CASYNC_RETURN_IF_ERROR(add("uncompressed", "none"));
    CASYNC_RETURN_IF_ERROR(add("plan", ""));
    for (const std::string& codec : options_.codecs) CASYNC_RETURN_IF_ERROR(add(codec, codec));
    CASYNC_RETURN_IF_ERROR(add_errors(ways, path("record"), path("plan.txtpb"), ranks_.ranks()));
    CASYNC_RETURN_IF_ERROR(make_report());
    if (options_.json) {
      std::printf(
          "%s\n",
          nlohmann::ordered_json{{"plan", path("plan.txtpb")}, {"report", path("report.html")}, {"ways", json_of(ways)}}
              .dump(2)
              .c_str());
    } else {
      std::printf("%sUse it: CASYNC_PLAN=%s. Look at it: %s\n", text_of(ways).c_str(), path("plan.txtpb").c_str(),
                  path("report.html").c_str());
    }
    return Status::ok();
  }

  const TuneOptions& options_;
  TuneRanks& ranks_;
  int phase_ = 0;
};

/// This command again, once per local rank.
int start_ranks(const TuneOptions& options) {
  JobOptions job;
  job.ranks = options.ranks;
  job.prefix = false;
  job.program = {own_path(),  "tune",
                 "--steps",   std::to_string(options.steps),
                 "--timeout", std::to_string(options.phase_s),
                 "-o",        options.directory};
  std::string codecs;
  for (const std::string& codec : options.codecs) codecs += (codecs.empty() ? "" : ",") + codec;
  job.program.insert(job.program.end(), {"--codecs", codecs});
  if (!options.profile.empty()) job.program.insert(job.program.end(), {"--profile", options.profile});
  if (!options.device.empty()) job.program.insert(job.program.end(), {"--device", options.device});
  if (options.fresh) job.program.push_back("--fresh");
  if (options.json) job.program.push_back("--json");
  job.program.push_back("--");
  job.program.insert(job.program.end(), options.program.begin(), options.program.end());
  const Result<JobEnd> end = run_job(job);
  return end ? end->exit_code : fail("tune", end.status());
}

Status tune(const TuneOptions& options, const runtime::Launch& launch) {
  Result<std::unique_ptr<TuneRanks>> ranks = TuneRanks::join(launch, options.phase_s);
  CASYNC_RETURN_IF_ERROR(ranks.status());
  const Status status = Tuning(options, **ranks).run();
  if (!status) (*ranks)->give_up(status);
  const Status closed = (*ranks)->close();
  return status ? closed : status;
}

int run(const TuneOptions& options) {
  if (options.program.empty()) {
    std::fprintf(stderr, "casync tune: no program; write it after --, as in: casync tune -n 2 -- python3 train.py\n");
    return kExitUsage;
  }
  if (options.ranks > 0) return start_ranks(options);
  const Result<runtime::Launch> launch = runtime::read_launch({}, foreign_env_text);
  if (!launch) return fail("tune", launch.status());
  if (launch->ranks < 2) {
    std::fprintf(stderr, "casync tune: -n is missing, and no launcher says how many ranks there are\n");
    return kExitUsage;
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
      app.add_subcommand("tune", "Record, profile, plan and measure a training: time per step before and after");
  command->add_option("-n,--ranks", options->ranks, "Local ranks to start (default: those of the launcher)")
      ->check(CLI::Range(2, 1024));
  command->add_option("--steps", options->steps, "Steps of each measured training")
      ->check(CLI::Range(5, 100000))
      ->capture_default_str();
  command->add_option("--codecs", options->codecs, "Single codecs to measure in addition to the plan")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--timeout", options->phase_s, "Seconds that one phase may take")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  command->add_option("--profile", options->profile, "Use this profile (default: measured between the ranks)");
  command->add_option("--device", options->device,
                      "The GPU of the gradients: measure codecs there (default: the processor)");
  command->add_option("-o,--output", options->directory, "Folder for the plan, the report and all measurements")
      ->capture_default_str();
  command->add_flag("--fresh", options->fresh, "Measure again what an earlier, interrupted call left in the folder");
  command->add_flag("--json", options->json, "Print the result as a JSON object");
  command->footer(
      "The program runs once per measurement and ends after --steps steps; it must not name a codec or plan itself.\n"
      "On several machines: torchrun ... -m casync tune -- python3 train.py, or mpirun, or srun.");
  command->callback([=, &invocation] {
    options->program = invocation.program;
    invocation.exit_code = run(*options);
  });
}

}  // namespace casync::tools
