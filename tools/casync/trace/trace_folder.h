// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "tools/casync/trace/trace_file.h"

namespace casync::tools {

/// The traces of all ranks of one job.
struct TraceFolder {
  std::string path;
  int ranks = 0;
  std::vector<RankTrace> traces;  ///< by rank; those that are there
  std::vector<Rank> missing;      ///< a rank that was killed leaves no file

  /// Start of an event on the one clock of all: microseconds since the earliest event of the job.
  double start_us(const RankTrace& trace, const TraceEvent& event) const {
    return (trace.epoch_us - zero_us) + event.start_us;
  }
  double zero_us = 0;  ///< unix time of the earliest event
};

/// Reads rank*.trace.json in `path`. InvalidArgument: no such folder, one that cannot be read, no trace in it, a file
/// that is refused, two files of one rank, or files of different jobs (names both).
Result<TraceFolder> read_trace_folder(const std::string& path);

}  // namespace casync::tools
