// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/tune/tuning.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "casync/planner/model_file.h"
#include "tools/casync/planning/overlap.h"
#include "tools/casync/planning/unequal.h"
#include "tools/casync/tune/choice.h"
#include "tools/casync/tune/phase.h"
#include "tools/casync/tune/result.h"

namespace casync::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAgain = ".again";

TuneGoal goal_of(const TuneOptions& options) { return options.goal == "step" ? TuneGoal::kStep : TuneGoal::kLoss; }

/// The identity of the phases in the folder: another program, goal, number of steps or of ranks starts anew, and so do
/// other codecs where the plan depends on them.
std::string identity_of(const TuneOptions& options, int ranks) {
  nlohmann::ordered_json json{
      {"ranks", ranks}, {"steps", options.steps}, {"goal", options.goal}, {"program", options.program}};
  if (goal_of(options) == TuneGoal::kStep) json["codecs"] = options.codecs;
  return json.dump();
}

/// Replaces the file at once: whoever reads it finds the old text or the new one.
Status write_whole(const std::string& path, const std::string& text) {
  const std::string part = path + ".part" + std::to_string(::getpid());  // ranks of one machine write at once
  {
    std::ofstream file(part, std::ios::binary);
    file << text;
    if (!file.flush()) return unavailable(part + " cannot be written");
  }
  std::error_code error;
  fs::rename(part, path, error);
  return error ? unavailable(path + " cannot be written: " + error.message()) : Status::ok();
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> split(const std::string& names) {
  std::vector<std::string> parts;
  std::istringstream stream(names);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

/// The phases of one `casync tune` on one rank.
class Tuning {
 public:
  Tuning(const TuneOptions& options, TuneRanks& ranks) : options_(options), ranks_(ranks) {}

  Status run() {
    CASYNC_RETURN_IF_ERROR(prepare());
    CASYNC_RETURN_IF_ERROR(train(kUncompressed));
    CASYNC_RETURN_IF_ERROR(profile());
    CASYNC_RETURN_IF_ERROR(plan());
    CASYNC_RETURN_IF_ERROR(train(kPlanned));
    for (const std::string& codec : options_.codecs) CASYNC_RETURN_IF_ERROR(train(codec));
    CASYNC_RETURN_IF_ERROR(train_again());
    CASYNC_RETURN_IF_ERROR(choose());
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
      for (const char* name : {"record", "profile.txtpb", "planned.txtpb", "plan.txtpb", "report.html"}) {
        fs::remove_all(path(name), error);
      }
      for (const std::string& way : all_ways()) {
        fs::remove_all(path(way), error);
        fs::remove_all(path(way + kAgain), error);
      }
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
      std::fprintf(stderr, "casync tune: %d of %zu: %s%s\n", phase_, phases_, phase.c_str(),
                   *found == "yes" ? " (kept from an earlier call)" : "");
    }
    return *found == "yes";
  }

  /// The environment that makes the program train in this way.
  std::vector<std::string> variables_of(const std::string& way) const {
    if (way == kUncompressed) return {"CASYNC_CODEC=none", "CASYNC_RECORD=" + path("record")};
    if (way == kPlanned) return {"CASYNC_PLAN=" + path("planned.txtpb"), "CASYNC_RECORD=" + path(kPlanned)};
    return {"CASYNC_CODEC=" + way};
  }

  std::vector<std::string> all_ways() const {
    std::vector<std::string> ways = {kUncompressed, kPlanned};
    ways.insert(ways.end(), options_.codecs.begin(), options_.codecs.end());
    return ways;
  }

  Status train(const std::string& way, const std::string& run = "") {
    const std::string folder = way + run;
    const std::string phase = "training, " + way + (run.empty() ? "" : " again");
    const Result<bool> done = is_done(phase, path(folder) + "/rank0.trace.json");
    CASYNC_RETURN_IF_ERROR(done.status());
    if (*done) return Status::ok();
    std::vector<std::string> variables = variables_of(way);
    if (!run.empty()) {
      std::erase_if(variables, [](const std::string& variable) { return variable.starts_with("CASYNC_RECORD="); });
    }
    variables.push_back("CASYNC_TRACE=" + path(folder));
    variables.push_back("CASYNC_STEPS=" + std::to_string(options_.steps));
    return run_phase(
        ranks_, {phase, options_.program, variables, {"CASYNC_PLAN", "CASYNC_CODEC", "CASYNC_RECORD"}, log_of(folder)});
  }

  /// Measures ways that one run each does not tell apart again, in the other order.
  Status train_again() {
    std::string names;
    if (ranks_.rank() == 0) {
      const Result<std::vector<TunedWay>> ways = measured({});
      if (!ways) ranks_.give_up(ways.status());
      if (ways) names = joined(contested_ways(*ways, goal_of(options_)));
    }
    const Result<std::string> told = ranks_.from_rank_0("contested", names);
    CASYNC_RETURN_IF_ERROR(told.status());
    again_ = split(*told);
    phases_ += again_.size();
    for (auto way = again_.rbegin(); way != again_.rend(); ++way) CASYNC_RETURN_IF_ERROR(train(*way, kAgain));
    return Status::ok();
  }

  /// All ways with their times and losses. A way in `again` has a second run.
  Result<std::vector<TunedWay>> measured(const std::vector<std::string>& again) const {
    std::vector<TunedWay> ways;
    for (const std::string& name : all_ways()) {
      std::vector<std::string> folders = {path(name)};
      if (std::find(again.begin(), again.end(), name) != again.end()) folders.push_back(path(name + kAgain));
      const std::string codec = name == kUncompressed ? "none" : name == kPlanned ? "" : name;
      Result<TunedWay> way = measured_way(name, folders, codec);
      CASYNC_RETURN_IF_ERROR(way.status());
      ways.push_back(std::move(*way));
    }
    CASYNC_RETURN_IF_ERROR(add_losses(ways, path("record"), path("planned.txtpb"), ranks_.ranks()));
    return ways;
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
    const Result<bool> done = is_done(kPlanned, path("planned.txtpb"));
    CASYNC_RETURN_IF_ERROR(done.status());
    std::string text;
    if (ranks_.rank() == 0) {
      const Status made = *done ? Status::ok() : make_plan();
      text = text_of_file(path("planned.txtpb"));
      if (!made || text.empty()) ranks_.give_up(made ? unavailable(path("planned.txtpb") + " cannot be read") : made);
    }
    return spread("planned.txtpb", text);
  }

  /// Writes rank 0's text into this file on every machine.
  Status spread(const std::string& name, const std::string& text) {
    if (ranks_.rank() == 0 && text != text_of_file(path(name))) {
      const Status written = write_whole(path(name), text);
      if (!written) ranks_.give_up(written);
    }
    const Result<std::string> told = ranks_.from_rank_0(name, text);
    CASYNC_RETURN_IF_ERROR(told.status());
    if (*told != text_of_file(path(name))) CASYNC_RETURN_IF_ERROR(write_whole(path(name), *told));
    return ranks_.meet(name);
  }

  /// The plan to train with, on every machine: the planner's, or a better way that was measured with it.
  Status choose() {
    std::string text;
    if (ranks_.rank() == 0) {
      const Status made = make_choice(text);
      if (!made) ranks_.give_up(made);
    }
    return spread("plan.txtpb", text);
  }

  Status make_choice(std::string& text) {
    Result<std::vector<TunedWay>> ways = measured(again_);
    CASYNC_RETURN_IF_ERROR(ways.status());
    ways_ = std::move(*ways);
    const TunedWay& chosen = chosen_way(ways_, goal_of(options_));
    chosen_ = chosen.name;
    gain_ = gain_of(ways_, chosen);
    Result<std::string> plan = plan_text_of(ways_, chosen, text_of_file(path("planned.txtpb")));
    CASYNC_RETURN_IF_ERROR(plan.status());
    text = std::move(*plan);
    return Status::ok();
  }

  /// Plans with the codecs that trainings allow; for the time of a step alone, with those that are measured with the
  /// plan.
  Status make_plan() {
    std::vector<std::string> program = {own_path(), "plan", "--goal", options_.goal, "-o", path("planned.txtpb")};
    program.insert(program.end(), {"--profile", path("profile.txtpb"), "--model", path("record/model.txtpb")});
    program.insert(program.end(), {"--gradients", path("record/gradients.safetensors")});
    program.insert(program.end(), {"-n", std::to_string(ranks_.ranks()), "--nodes", std::to_string(ranks_.nodes())});
    if (goal_of(options_) == TuneGoal::kStep) program.insert(program.end(), {"--codecs", joined(options_.codecs)});
    return run_to_end(ranks_, {"plan", std::move(program), {}, {}, log_of("plan")});
  }

  /// Writes the report of the chosen way, or the plan's if none pays, next to the uncompressed training; with the
  /// prediction next to a plan's if this machine has the traces of all ranks.
  Status make_report() {
    const std::string shown = chosen_ == kUncompressed ? kPlanned : chosen_;
    std::vector<std::string> program = {own_path(),          "report", path(shown),        "--beside",
                                        path(kUncompressed), "-o",     path("report.html")};
    bool all = shown == kPlanned;
    for (Rank rank = 0; rank < ranks_.ranks(); ++rank) {
      all = all && fs::exists(path(kPlanned) + "/rank" + std::to_string(rank) + ".trace.json");
    }
    if (all) program.insert(program.end(), {"--profile", path("profile.txtpb")});
    return run_to_end(ranks_, {"report", std::move(program), {}, {}, log_of("report")});
  }

  Status summarize() {
    CASYNC_RETURN_IF_ERROR(make_report());
    const Result<Training> training = read_model_file(path("record/model.txtpb"));
    if (training) {
      for (const std::string& remark : {text_of_no_overlap(*training), text_of_unequal(*training)}) {
        if (!remark.empty()) std::fprintf(stderr, "casync tune: %s\n", remark.c_str());
      }
    }
    const std::string plan = path("plan.txtpb"), report = path("report.html");
    if (options_.json) {
      const nlohmann::ordered_json result{
          {"plan", plan}, {"chosen", chosen_}, {"report", report}, {"ways", json_of(ways_)}};
      std::printf("%s\n", result.dump(2).c_str());
    } else {
      std::printf("%s%s\nUse it: CASYNC_PLAN=%s. Look at it: %s\n", text_of(ways_).c_str(), gain_.c_str(), plan.c_str(),
                  report.c_str());
    }
    return Status::ok();
  }

  const TuneOptions& options_;
  TuneRanks& ranks_;
  int phase_ = 0;
  std::size_t phases_ = 4 + options_.codecs.size();
  std::vector<std::string> again_;  ///< ways with a second run
  // Empty on ranks other than 0.
  std::vector<TunedWay> ways_;
  std::string chosen_, gain_;
};

}  // namespace

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

std::string own_path() { return fs::read_symlink("/proc/self/exe").string(); }

Status run_tuning(const TuneOptions& options, TuneRanks& ranks) { return Tuning(options, ranks).run(); }

}  // namespace casync::tools
