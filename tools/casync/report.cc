// SPDX-License-Identifier: Apache-2.0
// casync report: the timelines of all ranks as one page, as numbers, or as one trace for Perfetto.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>

#include "casync/planner/profile_file.h"
#include "tools/casync/exit_code.h"
#include "tools/casync/report/chrome_trace.h"
#include "tools/casync/report/measured_run.h"
#include "tools/casync/report/numbers.h"
#include "tools/casync/report/page.h"
#include "tools/casync/report/timeline.h"
#include "tools/casync/report/trace_folder.h"
#include "tools/casync/subcommands.h"

namespace casync::tools {
namespace {

constexpr std::size_t kMostEvents = 60000;  // of a page: about 3 MB, drawn without a hitch

struct ReportOptions {
  std::string directory, page, trace, steps, profile;
  bool json = false;
};

Status write_page(const TraceFolder& folder, const nlohmann::ordered_json& numbers, std::optional<StepRange> range,
                  const std::string& path) {
  if (!range) range = choose_steps(folder, kMostEvents);
  if (range) std::fprintf(stderr, "casync report: the timeline shows steps %d..%d\n", range->first, range->last);
  std::ofstream file(path, std::ios::binary);
  file << make_page(numbers, timeline_columns(folder, range));
  file.close();
  if (!file) return unavailable(path + " cannot be written: " + std::strerror(errno));
  std::fprintf(stderr, "casync report: wrote %s\n", path.c_str());
  return Status::ok();
}

Result<Comparison> compare_with(const TraceFolder& folder, const std::string& path) {
  const Result<Profile> profile = read_profile_file(path);
  CASYNC_RETURN_IF_ERROR(profile.status());
  const Result<MeasuredRun> run = measured_run(folder);
  CASYNC_RETURN_IF_ERROR(run.status());
  return compare(*run, *profile);
}

Status report(const ReportOptions& options, std::optional<StepRange> range) {
  Result<TraceFolder> folder = read_trace_folder(options.directory);
  CASYNC_RETURN_IF_ERROR(folder.status());
  for (Rank rank : folder->missing) {
    std::fprintf(stderr, "casync report: rank %d of %d left no trace\n", rank, folder->ranks);
  }
  nlohmann::ordered_json numbers = report_numbers(*folder);
  if (!options.profile.empty()) {
    const Result<Comparison> comparison = compare_with(*folder, options.profile);
    CASYNC_RETURN_IF_ERROR(comparison.status());
    numbers["prediction"] = comparison_json(*comparison);
    if (!options.json) std::printf("%s", comparison_text(*comparison).c_str());
  }
  if (options.json) std::printf("%s\n", numbers.dump(2).c_str());
  if (!options.trace.empty()) CASYNC_RETURN_IF_ERROR(write_chrome_trace(*folder, range, options.trace));
  const bool page = !options.page.empty() || (!options.json && options.trace.empty());
  if (!page) return Status::ok();
  return write_page(*folder, numbers, range, options.page.empty() ? options.directory + "/report.html" : options.page);
}

int run(const ReportOptions& options) {
  std::optional<StepRange> range;
  if (!options.steps.empty()) {
    const Result<StepRange> parsed = parse_step_range(options.steps);
    if (!parsed) {
      std::fprintf(stderr, "casync report: --steps %s\n", parsed.status().message().c_str());
      return kExitUsage;
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
      app.add_subcommand("report", "One self-contained page: timeline of all ranks, table of gradients");
  command->add_option("directory", options->directory, "The folder given as CASYNC_TRACE")->required();
  command->add_option("-o,--output", options->page, "The page to write (default: DIRECTORY/report.html)");
  command->add_option("--steps", options->steps,
                      "FIRST..LAST: the steps of the timeline (default: as many as fit, from the middle)");
  command->add_option("--trace", options->trace, "Write all ranks' events as one Chrome trace for Perfetto");
  command->add_option("--profile", options->profile,
                      "Compare with what is predicted from this; DIRECTORY is CASYNC_RECORD, too");
  command->add_flag("--json", options->json, "Print the merged numbers; no page unless -o is given");
  command->callback([=, &invocation] { invocation.exit_code = run(*options); });
}

}  // namespace casync::tools
