// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/report/timeline.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/casync/report/flow.h"
#include "tools/casync/report/links.h"

namespace casync::tools {
namespace {

using Json = nlohmann::ordered_json;

/// Tenths of microseconds are all that clocks of several processes can tell.
double tenths_of_us(double us) { return std::round(us * 10) / 10; }

std::map<std::int32_t, std::size_t> events_by_step(const TraceFolder& folder) {
  std::map<std::int32_t, std::size_t> counts;
  for (const RankTrace& trace : folder.traces) {
    for (const TraceEvent& event : trace.events) ++counts[event.step];
  }
  return counts;
}

}  // namespace

std::optional<StepRange> choose_steps(const TraceFolder& folder, std::size_t most_events) {
  const auto counts = events_by_step(folder);
  std::size_t total = 0;
  for (const auto& [step, count] : counts) total += count;
  if (total <= most_events || counts.empty()) return std::nullopt;
  auto low = std::next(counts.begin(), static_cast<std::ptrdiff_t>(counts.size() / 2)), high = low;
  std::size_t taken = low->second;
  while (true) {  // one step on either side in turn, as long as it fits
    const auto above = std::next(high);
    const bool up = above != counts.end() && taken + above->second <= most_events;
    if (up) taken += (++high)->second;
    const bool down = low != counts.begin() && taken + std::prev(low)->second <= most_events;
    if (down) taken += (--low)->second;
    if (!up && !down) break;
  }
  return StepRange{low->first, high->first};
}

Json timeline_columns(const TraceFolder& folder, const std::optional<StepRange>& range) {
  double zero = std::numeric_limits<double>::max();
  for (const RankTrace& trace : folder.traces) {
    for (const TraceEvent& event : trace.events) {
      if (shows(range, event)) zero = std::min(zero, folder.start_us(trace, event));
    }
  }
  NameList names;
  Json rank = Json::array(), kind = rank, start = rank, duration = rank, gradient = rank, partition = rank, hop = rank,
       bytes = rank, step = rank, peer = rank;
  for (const RankTrace& trace : folder.traces) {
    for (const TraceEvent& event : trace.events) {
      if (!shows(range, event)) continue;
      rank.push_back(trace.rank);
      kind.push_back(static_cast<int>(event.kind));
      start.push_back(tenths_of_us(folder.start_us(trace, event) - zero));
      duration.push_back(tenths_of_us(event.duration_us));
      const bool named = event.gradient >= 0;
      gradient.push_back(named ? static_cast<int>(names.index_of(trace.names.names()[event.gradient])) : -1);
      partition.push_back(event.partition);
      hop.push_back(event.hop);
      bytes.push_back(event.bytes);
      step.push_back(event.step);
      peer.push_back(event.peer);
    }
  }
  Json columns{{"kinds", kKindNames}, {"names", names.names()}, {"all_steps", !range.has_value()}};
  if (range) columns["steps"] = {range->first, range->last};
  columns["rank"] = std::move(rank);
  columns["kind"] = std::move(kind);
  columns["start_us"] = std::move(start);
  columns["duration_us"] = std::move(duration);
  columns["gradient"] = std::move(gradient);
  columns["partition"] = std::move(partition);
  columns["hop"] = std::move(hop);
  columns["bytes"] = std::move(bytes);
  columns["step"] = std::move(step);
  columns["peer"] = std::move(peer);
  columns["flows"] = flow_columns(ways_over_links(folder, range), zero * 1e-6);
  return columns;
}

}  // namespace casync::tools
