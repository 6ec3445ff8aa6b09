// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/tune/tuning.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "casync/model/codec_choice.h"
#include "casync/planner/model_file.h"
#include "casync/planner/plan_library.h"
#include "tools/casync/codec_facts.h"
#include "tools/casync/input_files.h"
#include "tools/casync/output_file.h"
#include "tools/casync/own_path.h"
#include "tools/casync/planning/inputs.h"
#include "tools/casync/planning/overlap.h"
#include "tools/casync/planning/unequal.h"
#include "tools/casync/print_json.h"
#include "tools/casync/tune/choice.h"
#include "tools/casync/tune/folder.h"
#include "tools/casync/tune/phase.h"
#include "tools/casync/tune/result.h"
#include "tools/casync/tune/ways.h"

namespace casync::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProfileFile = "profile.txtpb";
constexpr const char* kProfilePart = "profile.part";
/// File beside the traces of a training that ended well on all ranks: one that failed may leave traces, too.
constexpr const char* kEnded = "ended";

TuneGoal goal_of(const TuneOptions& options) { return options.goal == "step" ? TuneGoal::kStep : TuneGoal::kLoss; }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The file is there. One that cannot be looked at is none, and the phase that makes it says why.
bool is_found(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// The phases of one `casync tune` on one rank.
class Tuning {
 public:
  Tuning(const TuneOptions& options, TuneRanks& ranks)
      : options_(options), ranks_(ranks), ways_(options.directory, options.codecs) {}

  Status run() {
    CASYNC_RETURN_IF_ERROR(prepare());
    CASYNC_RETURN_IF_ERROR(train(kUncompressed));
    CASYNC_RETURN_IF_ERROR(profile());
    CASYNC_RETURN_IF_ERROR(plan());
    CASYNC_RETURN_IF_ERROR(train(kPlanned));
    for (const std::string& codec : options_.codecs) CASYNC_RETURN_IF_ERROR(train(codec));
    CASYNC_RETURN_IF_ERROR(train_again());
    CASYNC_RETURN_IF_ERROR(choose());
    if (ranks_.rank() == 0) CASYNC_RETURN_IF_ERROR(summarize());
    return ranks_.meet("reported");  // a report may take longer than ranks that close wait for each other
  }

 private:
  std::string path(const std::string& name) const { return options_.directory + "/" + name; }
  std::string log_of(const std::string& phase) const {
    return path(phase + ".rank" + std::to_string(ranks_.rank()) + ".log");
  }

  /// The folder, on each machine. Rank 0 decides if results in it can be kept. Once all ranks have refused nothing, it
  /// removes those of another call.
  Status prepare() {
    std::error_code error;
    fs::create_directories(options_.directory, error);
    if (error) return unavailable(options_.directory + " cannot be made: " + error.message());
    if (ranks_.rank() == 0) CASYNC_RETURN_IF_ERROR(read_inputs());
    CASYNC_RETURN_IF_ERROR(ranks_.meet("inputs"));
    CASYNC_RETURN_IF_ERROR(ways_.name_folders());
    profile_is_here_ = fs::equivalent(options_.profile, path(kProfileFile), error);
    Result<TuneRecord> record = read_tune_record(options_.directory);
    CASYNC_RETURN_IF_ERROR(record.status());
    const std::set<std::string> names = outputs();
    CASYNC_RETURN_IF_ERROR(check_own(options_.directory, *record, names));
    const std::string mine = identity();
    const bool known = !options_.fresh && record->identity == mine;
    const Result<std::string> keep = ranks_.from_rank_0("kept", known ? "yes" : "no");
    CASYNC_RETURN_IF_ERROR(keep.status());
    if (*keep == "no" && ranks_.rank() == 0) CASYNC_RETURN_IF_ERROR(clear(*record));
    record->identity = mine;
    record->made.insert(names.begin(), names.end());
    return spread(kTuneRecord, text_of(*record));
  }

  /// Refuses on rank 0 all that a later phase would refuse, and reads the profile.
  Status read_inputs() {
    for (const std::string& codec : options_.codecs) {
      const Result<CodecChoice> choice = parse_codec_choice(codec);
      CASYNC_RETURN_IF_ERROR(choice.status());
      CASYNC_RETURN_IF_ERROR(facts_of(*choice).status());
    }
    if (options_.profile.empty()) return Status::ok();
    CASYNC_RETURN_IF_ERROR(read_profile_input(options_.profile).status());
    const Result<std::string> text = text_of_input("profile file", options_.profile);
    CASYNC_RETURN_IF_ERROR(text.status());
    profile_ = *text;
    return Status::ok();
  }

  /// Names in the folder that this call writes, besides logs.
  std::set<std::string> outputs() const {
    std::set<std::string> names = {"record", kProfilePart, "planned.txtpb", "plan.txtpb", "report.html"};
    if (!profile_is_here_) names.insert(kProfileFile);
    for (const std::string& way : ways_.all()) {
      names.insert(ways_.folder_of(way));
      names.insert(ways_.folder_of(way) + kAgain);
    }
    return names;
  }

  /// The identity of the phases in the folder, on rank 0: another program, goal, profile, device, number of steps or of
  /// ranks starts anew, and so do other codecs where the plan depends on them.
  std::string identity() const {
    nlohmann::ordered_json json{
        {"ranks", ranks_.ranks()}, {"steps", options_.steps}, {"goal", options_.goal}, {"program", options_.program}};
    json["profile"] = digest_of_file(profile_);
    json["device"] = options_.device;
    if (goal_of(options_) == TuneGoal::kStep) {
      for (const std::string& codec : options_.codecs) json["codecs"].push_back(ways_.folder_of(codec));
    }
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }

  /// Removes the results of earlier calls, except a profile that this call is given. A call that is interrupted
  /// meanwhile leaves results of no call.
  Status clear(TuneRecord& record) const {
    record.identity.clear();
    CASYNC_RETURN_IF_ERROR(write_output(path(kTuneRecord), text_of(record)));
    std::set<std::string> names = record.made;
    if (profile_is_here_) names.erase(kProfileFile);
    return remove_names(options_.directory, names);
  }

  /// True on all ranks if rank 0 has this phase's result from an earlier, interrupted call.
  Result<bool> is_done(const std::string& phase, const std::string& result,
                       const char* kept = " (kept from an earlier call)") {
    ++phase_;
    const Result<std::string> found = ranks_.from_rank_0(phase, is_found(result) ? "yes" : "no");
    CASYNC_RETURN_IF_ERROR(found.status());
    if (ranks_.rank() == 0) {
      std::fprintf(stderr, "casync tune: %d of %zu: %s%s\n", phase_, phases_, phase.c_str(),
                   *found == "yes" ? kept : "");
    }
    return *found == "yes";
  }

  Status train(const std::string& way, const std::string& run = "") {
    const std::string folder = ways_.folder_of(way) + run;
    const std::string phase = "training, " + way + (run.empty() ? "" : " again"), ended = path(folder) + "/" + kEnded;
    const Result<bool> done = is_done(phase, ended);
    CASYNC_RETURN_IF_ERROR(done.status());
    if (*done) return Status::ok();
    if (ranks_.rank() == 0) CASYNC_RETURN_IF_ERROR(remove_leftovers(folder));
    std::vector<std::string> variables = ways_.variables_of(way, folder, run.empty());
    variables.push_back("CASYNC_STEPS=" + std::to_string(options_.steps));
    CASYNC_RETURN_IF_ERROR(run_phase(
        ranks_,
        {phase, options_.program, variables, {"CASYNC_PLAN", "CASYNC_CODEC", "CASYNC_RECORD"}, log_of(folder)}));
    if (ranks_.rank() != 0) return Status::ok();
    Status kept = check_measured(way, folder);
    if (kept) kept = write_output(ended, "");
    if (!kept) ranks_.give_up(kept);
    return kept;
  }

  /// Removes the files of a refused training, which would be taken for those of one that leaves none.
  Status remove_leftovers(const std::string& folder) const {
    std::set<std::string> names = {folder};
    if (folder == kUncompressed) names.insert("record");  // which its second run does not make
    const Status removed = remove_names(options_.directory, names);
    if (!removed) ranks_.give_up(removed);
    return removed;
  }

  /// A training that is no measurement of its way is refused at once, on rank 0, and is none that a later call keeps:
  /// the program may be mended by then.
  Status check_measured(const std::string& way, const std::string& folder) const {
    const std::string model = path("record/model.txtpb");
    if (way == kUncompressed && !is_found(model)) {
      return invalid_argument(model + " was not written: the program has opened no session, or ended no step");
    }
    const Result<Training> training = read_model_file(model);
    CASYNC_RETURN_IF_ERROR(training.status());
    return measured_way(way, {path(folder)}, path("planned.txtpb"), *training, ranks_.ranks()).status();
  }

  /// Measures ways that one run each does not tell apart again, in the other order.
  Status train_again() {
    std::string names;  // a line each: a codec with parameters has commas
    if (ranks_.rank() == 0) {
      const Result<std::vector<TunedWay>> ways = measured({});
      if (!ways) {
        ranks_.give_up(ways.status());
      } else {
        for (const std::string& name : contested_ways(*ways, goal_of(options_))) names += name + "\n";
      }
    }
    const Result<std::string> told = ranks_.from_rank_0("contested", names);
    CASYNC_RETURN_IF_ERROR(told.status());
    again_ = lines_of(*told);
    phases_ += again_.size();
    for (auto way = again_.rbegin(); way != again_.rend(); ++way) CASYNC_RETURN_IF_ERROR(train(*way, kAgain));
    return Status::ok();
  }

  /// All ways with their times and losses. A way in `again` has a second run.
  Result<std::vector<TunedWay>> measured(const std::vector<std::string>& again) const {
    const Result<Training> training = read_model_file(path("record/model.txtpb"));
    CASYNC_RETURN_IF_ERROR(training.status());
    std::vector<TunedWay> ways;
    for (const std::string& name : ways_.all()) {
      std::vector<std::string> folders = {path(ways_.folder_of(name))};
      if (std::find(again.begin(), again.end(), name) != again.end()) folders.push_back(folders.front() + kAgain);
      Result<TunedWay> way = measured_way(name, folders, path("planned.txtpb"), *training, ranks_.ranks());
      CASYNC_RETURN_IF_ERROR(way.status());
      ways.push_back(std::move(*way));
    }
    CASYNC_RETURN_IF_ERROR(add_losses(ways, path("record"), path("planned.txtpb"), ranks_.ranks()));
    return ways;
  }

  Status profile() {
    const Result<bool> done = profile_is_here_
                                  ? is_done("profile of codecs and links", path(kProfileFile), " (as given)")
                                  : is_done("profile of codecs and links", path(kProfileFile));
    CASYNC_RETURN_IF_ERROR(done.status());
    if (*done) return Status::ok();
    if (!options_.profile.empty()) return take_profile();
    const std::string part = path(kProfilePart);
    const Result<std::string> own = own_path();
    CASYNC_RETURN_IF_ERROR(own.status());
    std::vector<std::string> command = {*own, "profile", "--quick", "-o", part};
    if (!options_.device.empty()) command.insert(command.end(), {"--device", options_.device});
    CASYNC_RETURN_IF_ERROR(run_phase(
        ranks_,
        {"profile", command, {}, {"CASYNC_PLAN", "CASYNC_CODEC", "CASYNC_RECORD", "CASYNC_TRACE"}, log_of("profile")}));
    // A profile that was cut short is never taken for a whole one.
    if (ranks_.rank() != 0) return Status::ok();
    std::error_code error;
    fs::rename(part, path(kProfileFile), error);
    if (error) return unavailable(part + " cannot be renamed to " + path(kProfileFile) + ": " + error.message());
    return Status::ok();
  }

  Status take_profile() {
    if (ranks_.rank() == 0) {
      const Status written = write_output(path(kProfileFile), profile_);
      if (!written) ranks_.give_up(written);
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
      const Status written = write_output(path(name), text);
      if (!written) ranks_.give_up(written);
    }
    const Result<std::string> told = ranks_.from_rank_0(name, text);
    CASYNC_RETURN_IF_ERROR(told.status());
    if (*told != text_of_file(path(name))) CASYNC_RETURN_IF_ERROR(write_output(path(name), *told));
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
    tuned_ = std::move(*ways);
    const TunedWay& chosen = chosen_way(tuned_, goal_of(options_));
    chosen_ = chosen.name;
    gain_ = gain_of(tuned_, chosen, goal_of(options_));
    Result<std::string> plan = plan_text_of(tuned_, chosen, goal_of(options_), text_of_file(path("planned.txtpb")));
    CASYNC_RETURN_IF_ERROR(plan.status());
    text = std::move(*plan);
    return Status::ok();
  }

  /// Plans with the codecs that trainings allow; for the time of a step alone, with those that are measured with the
  /// plan.
  Status make_plan() {
    const Result<std::string> own = own_path();
    CASYNC_RETURN_IF_ERROR(own.status());
    std::vector<std::string> program = {*own, "plan", "--goal", options_.goal, "-o", path("planned.txtpb")};
    program.insert(program.end(), {"--profile", path(kProfileFile), "--model", path("record/model.txtpb")});
    program.insert(program.end(), {"--gradients", path("record/gradients.safetensors")});
    program.insert(program.end(), {"-n", std::to_string(ranks_.ranks()), "--nodes", std::to_string(ranks_.nodes())});
    if (goal_of(options_) == TuneGoal::kStep) program.insert(program.end(), {"--codecs", joined(options_.codecs)});
    return run_to_end(ranks_, {"plan", std::move(program), {}, {}, log_of("plan")});
  }

  /// Writes the report of the chosen way, or the plan's if none pays, next to the uncompressed training; with the
  /// prediction next to a plan's if this machine has the traces of all ranks.
  Status make_report() {
    const std::string shown = chosen_ == kUncompressed ? kPlanned : chosen_;
    const Result<std::string> own = own_path();
    CASYNC_RETURN_IF_ERROR(own.status());
    std::vector<std::string> program = {
        *own, "report", path(ways_.folder_of(shown)), "--beside", path(kUncompressed), "-o", path("report.html")};
    bool all = shown == kPlanned;
    for (Rank rank = 0; rank < ranks_.ranks(); ++rank) {
      all = all && is_found(path(kPlanned) + "/rank" + std::to_string(rank) + ".trace.json");
    }
    if (all) program.insert(program.end(), {"--profile", path(kProfileFile)});
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
          {"plan", plan}, {"chosen", chosen_}, {"report", report}, {"ways", json_of(tuned_)}};
      print_json(result);
    } else {
      std::printf("%s%s\n%s\n", text_of(tuned_).c_str(), gain_.c_str(), use_of(plan, report).c_str());
    }
    return Status::ok();
  }

  const TuneOptions& options_;
  TuneRanks& ranks_;
  TuneWays ways_;
  bool profile_is_here_ = false;  ///< the given profile is the folder's own
  int phase_ = 0;
  std::size_t phases_ = 4 + options_.codecs.size();
  std::vector<std::string> again_;  ///< ways with a second run
  // Empty on ranks other than 0.
  std::vector<TunedWay> tuned_;
  std::string profile_;  ///< the given one's text
  std::string chosen_, gain_;
};

}  // namespace

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

Status run_tuning(const TuneOptions& options, TuneRanks& ranks) { return Tuning(options, ranks).run(); }

}  // namespace casync::tools
