// SPDX-License-Identifier: Apache-2.0
// casync report: the timelines of all ranks as one page, as numbers, or as one trace for Perfetto.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "casync/planner/model_file.h"
#include "tools/casync/exit_code.h"
#include "tools/casync/input_files.h"
#include "tools/casync/measurement/measured_run.h"
#include "tools/casync/measurement/numbers.h"
#include "tools/casync/output_file.h"
#include "tools/casync/planning/unequal.h"
#include "tools/casync/print_json.h"
#include "tools/casync/report/beside.h"
#include "tools/casync/report/links.h"
#include "tools/casync/report/page.h"
#include "tools/casync/report/timeline.h"
#include "tools/casync/subcommands.h"
#include "tools/casync/trace/chrome_trace.h"
#include "tools/casync/trace/trace_folder.h"

namespace casync::tools {
namespace {

constexpr std::size_t kMostEvents = 60000;  // of a page: about 4 MB, drawn without a hitch

struct ReportOptions {
  std::string directory, page, trace, steps, profile, beside;
  bool json = false;
};

Status write_page(const TraceFolder& folder, const nlohmann::ordered_json& numbers, std::optional<StepRange> range,
                  const std::string& path) {
  if (!range) range = choose_steps(folder, kMostEvents);
  if (range) std::fprintf(stderr, "casync report: the timeline shows steps %d..%d\n", range->first, range->last);
  CASYNC_RETURN_IF_ERROR(write_output(path, make_page(numbers, timeline_columns(folder, range))));
  std::fprintf(stderr, "casync report: wrote %s\n", path.c_str());
  return Status::ok();
}

/// InvalidArgument: the traces have none of these steps; says which they have.
Status check_traced(const TraceFolder& folder, const StepRange& range) {
  std::optional<StepRange> traced;
  for (const RankTrace& trace : folder.traces) {
    for (const TraceEvent& event : trace.events) {
      if (shows(range, event)) return Status::ok();
      if (event.step < 0) continue;
      traced = traced ? StepRange{std::min(traced->first, event.step), std::max(traced->last, event.step)}
                      : StepRange{event.step, event.step};
    }
  }
  const std::string what = "--steps " + std::to_string(range.first) + ".." + std::to_string(range.last) + ": ";
  if (!traced) return invalid_argument(what + folder.path + " has events of no step");
  return invalid_argument(what + folder.path + " has steps " + std::to_string(traced->first) + ".." +
                          std::to_string(traced->last));
}

/// `where`: a folder and ": ", or nothing.
void print_missing(const TraceFolder& folder, const std::string& where) {
  for (Rank rank : folder.missing) {
    std::fprintf(stderr, "casync report: %srank %d of %d left no trace\n", where.c_str(), rank, folder.ranks);
  }
}

nlohmann::ordered_json numbers_of(const TraceFolder& folder, const Profile* profile) {
  nlohmann::ordered_json numbers = report_numbers(folder);
  numbers["links"] = link_numbers(folder, link_rate(folder, profile));
  return numbers;
}

/// Adds the ranks that the run's model description says are unequal, if it left one. One that cannot be read is named:
/// nothing else needs it.
void add_unequal(const TraceFolder& folder, nlohmann::ordered_json& numbers) {
  const std::string path = folder.path + "/model.txtpb";
  std::error_code error;  // of a file that cannot be looked at: reading it names why
  if (!std::filesystem::exists(path, error) && !error) return;
  const Result<Training> training = read_model_file(path);
  if (!training) {
    std::fprintf(stderr, "casync report: not known if ranks are unequal: %s\n", training.status().message().c_str());
    return;
  }
  const std::string text = text_of_unequal(*training);
  if (text.empty()) return;
  std::fprintf(stderr, "casync report: %s\n", text.c_str());
  numbers["unequal"] = text;
}

/// Adds what was predicted from `profile`; its text goes to stdout unless that is to be JSON.
Status add_prediction(const TraceFolder& folder, const Profile& profile, bool json, nlohmann::ordered_json& numbers) {
  const Result<MeasuredRun> run = measured_run(folder);
  CASYNC_RETURN_IF_ERROR(run.status());
  const Result<Comparison> comparison = compare(*run, profile);
  CASYNC_RETURN_IF_ERROR(comparison.status());
  numbers["prediction"] = comparison_json(*comparison);
  if (!json) std::printf("%s", comparison_text(*comparison).c_str());
  return Status::ok();
}

/// Adds another run beside this one, likewise.
Status add_beside(const std::string& other, bool json, nlohmann::ordered_json& numbers) {
  const Result<TraceFolder> folder = read_trace_folder(other);
  CASYNC_RETURN_IF_ERROR(folder.status());
  print_missing(*folder, other + ": ");
  numbers["beside"] = beside_json(numbers, report_numbers(*folder));
  if (!json) std::printf("%s", beside_text(numbers["beside"]).c_str());
  return Status::ok();
}

Status report(const ReportOptions& options, std::optional<StepRange> range) {
  Result<TraceFolder> folder = read_trace_folder(options.directory);
  CASYNC_RETURN_IF_ERROR(folder.status());
  print_missing(*folder, "");
  if (range) CASYNC_RETURN_IF_ERROR(check_traced(*folder, *range));
  std::optional<Profile> profile;
  if (!options.profile.empty()) {
    Result<Profile> read = read_profile_input(options.profile);
    CASYNC_RETURN_IF_ERROR(read.status());
    profile = std::move(*read);
  }
  nlohmann::ordered_json numbers = numbers_of(*folder, profile ? &*profile : nullptr);
  if (profile) CASYNC_RETURN_IF_ERROR(add_prediction(*folder, *profile, options.json, numbers));
  add_unequal(*folder, numbers);
  if (!options.beside.empty()) CASYNC_RETURN_IF_ERROR(add_beside(options.beside, options.json, numbers));
  if (!options.trace.empty()) CASYNC_RETURN_IF_ERROR(write_chrome_trace(*folder, range, options.trace));
  const bool page = !options.page.empty() || (!options.json && options.trace.empty());
  if (page) {
    const std::string path = options.page.empty() ? options.directory + "/report.html" : options.page;
    CASYNC_RETURN_IF_ERROR(write_page(*folder, numbers, range, path));
  }
  if (options.json) print_json(numbers);
  return Status::ok();
}

int run(const ReportOptions& options) {
  std::optional<StepRange> range;
  if (!options.steps.empty()) {
    const Result<StepRange> parsed = parse_step_range(options.steps);
    if (!parsed) {
      return fail_usage("report", "--steps " + parsed.status().message());
    }
    range = *parsed;
  }
  const Status status = report(options, range);
  return status.is_ok() ? kExitOk : fail("report", status);
}

}  // namespace

void add_report(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command =
      app.add_subcommand("report", "Write a page about a traced run: timeline of all ranks, table of gradients");
  command->add_option("directory", options->directory, "Folder of the traces (CASYNC_TRACE)")->required();
  command->add_option("-o,--output", options->page, "Write the page there (default: DIRECTORY/report.html)");
  command->add_option("--steps", options->steps,
                      "FIRST..LAST: the steps of the timeline (default: as many as fit, from the middle)");
  command->add_option("--trace", options->trace, "Write all ranks' events as one Chrome trace for Perfetto");
  command->add_option(
      "--profile", options->profile,
      "Compare with the prediction from this profile; DIRECTORY must also have the record (CASYNC_RECORD)");
  command->add_option("--beside", options->beside, "Compare with another run, whose traces are in this folder");
  command->add_flag("--json", options->json, "Print the merged numbers; no page unless -o is given");
  command->callback([=, &invocation] { invocation.exit_code = run(*options); });
}

}  // namespace casync::tools
