// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "tools/casync/trace/trace_event.h"

namespace casync::tools {

/// One gradient as the rank that wrote the trace saw it.
struct TracedGradient {
  std::string name, dtype, codec, second_hop, strategy;
  std::vector<std::string> members;  ///< of a group
  double elements = 0, partitions = 1, priority = 0;
  double servers = 0, dedicated = 0;  ///< as Servers
  bool scattered = false;             ///< as GradientSpec
  double payload_bytes = 0;           ///< that the rank sends of it in one step
  double steps = 0, mean_ms = 0, exposed_ms = 0;
};

/// Counters of the whole run; the names are those of SessionStats.
struct TracedStats {
  double steps = 0;
  double payload_bytes_sent = 0, wire_bytes_sent = 0;
  double messages_sent = 0;
  double allocations = 0;
  double idle_s = 0;
};

/// The content of one rank's trace file.
struct RankTrace {
  std::string path;
  Rank rank = 0;
  int ranks = 1;
  std::string job;  ///< alike in the files of one session's ranks; "": the file does not say
  std::string host, transport, link;
  int node = -1;                              ///< its node's number; -1: the file does not say
  double fusion_bytes = 0, credit_bytes = 0;  ///< as Plan
  std::string mode;                           ///< in which steps are not alike, as plans name it; "": none
  std::string plan_mode;                      ///< text_of() the plan's mode; "": none, or the file does not say
  double staleness = 0;                       ///< as SyncMode
  double epoch_us = 0;                        ///< unix time of the events' zero
  double dropped = 0;                         ///< events that the rank had no room for
  std::size_t ignored = 0;                    ///< events of kinds this version does not know
  TracedStats stats;
  std::vector<TracedGradient> gradients;
  NameList names;  ///< what TraceEvent::gradient indexes
  std::vector<TraceEvent> events;
  std::map<std::uint32_t, std::string> lane_names;
};

/// Reads one file, as hostile as any other input. InvalidArgument: not a regular file, over 2 GiB, not JSON
/// (line and column), or not of the trace's form (which event or section, which field, what was seen).
Result<RankTrace> read_trace_file(const std::string& path);

}  // namespace casync::tools
