// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/trace/trace_folder.h"

#include <algorithm>
#include <limits>
#include <system_error>

#include "base/folder_entries.h"

namespace casync::tools {
namespace {

constexpr std::string_view kPrefix = "rank", kSuffix = ".trace.json";

bool is_trace_name(const std::string& name) {
  if (name.size() <= kPrefix.size() + kSuffix.size() || name.compare(0, kPrefix.size(), kPrefix) != 0) return false;
  const std::size_t digits = name.size() - kPrefix.size() - kSuffix.size();
  return name.compare(kPrefix.size() + digits, kSuffix.size(), kSuffix) == 0 &&
         std::all_of(name.begin() + kPrefix.size(), name.end() - kSuffix.size(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

Result<std::vector<std::string>> find_traces(const std::string& path) {
  std::error_code error;
  std::vector<std::string> files;
  for (const auto& entry : folder_entries(path, error)) {
    if (is_trace_name(entry.path().filename().string())) files.push_back(entry.path().string());
  }
  if (error) return invalid_argument(path + ": " + error.message());
  if (files.empty()) {
    return invalid_argument(path + ": no rank*.trace.json here; run the program with CASYNC_TRACE=" + path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

Status check_together(const TraceFolder& folder) {
  for (std::size_t i = 1; i < folder.traces.size(); ++i) {
    const RankTrace &before = folder.traces[i - 1], &trace = folder.traces[i];
    if (before.rank == trace.rank) {
      return invalid_argument(before.path + " and " + trace.path + " both say they are rank " +
                              std::to_string(trace.rank));
    }
    if (before.ranks != trace.ranks) {
      return invalid_argument(before.path + " is of a job of " + std::to_string(before.ranks) + " ranks, " +
                              trace.path + " of one of " + std::to_string(trace.ranks) +
                              "; empty the folder between jobs");
    }
  }
  const RankTrace* named = nullptr;  // the first that says of which job it is
  for (const RankTrace& trace : folder.traces) {
    if (trace.job.empty()) continue;
    if (named == nullptr) named = &trace;
    if (named->job != trace.job) {
      return invalid_argument(named->path + " and " + trace.path +
                              " are of different jobs; empty the folder, and copy all files of one job there");
    }
  }
  return Status::ok();
}

void align(TraceFolder& folder) {
  folder.zero_us = std::numeric_limits<double>::max();
  for (const RankTrace& trace : folder.traces) {
    for (const TraceEvent& event : trace.events) {
      folder.zero_us = std::min(folder.zero_us, trace.epoch_us + event.start_us);
    }
  }
}

}  // namespace

Result<TraceFolder> read_trace_folder(const std::string& path) {
  Result<std::vector<std::string>> files = find_traces(path);
  CASYNC_RETURN_IF_ERROR(files.status());
  TraceFolder folder;
  folder.path = path;
  for (const std::string& file : *files) {
    Result<RankTrace> trace = read_trace_file(file);
    CASYNC_RETURN_IF_ERROR(trace.status());
    folder.traces.push_back(std::move(*trace));
  }
  std::sort(folder.traces.begin(), folder.traces.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  CASYNC_RETURN_IF_ERROR(check_together(folder));
  folder.ranks = folder.traces.front().ranks;
  std::size_t next = 0;
  for (Rank rank = 0; rank < folder.ranks; ++rank) {
    const bool here = next < folder.traces.size() && folder.traces[next].rank == rank;
    here ? static_cast<void>(++next) : folder.missing.push_back(rank);
  }
  align(folder);
  return folder;
}

}  // namespace casync::tools
