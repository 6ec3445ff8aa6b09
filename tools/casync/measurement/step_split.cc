// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/measurement/step_split.h"

#include <algorithm>
#include <map>

namespace casync::tools {
namespace {

struct Interval {
  double from_us = 0, to_us = 0;
};
using Intervals = std::vector<Interval>;

struct StepSpans {
  Interval step;
  bool ended = false;
  std::optional<double> backward_ms;
  Intervals waits, tasks;
};

double length_of_union(Intervals intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.from_us < b.from_us; });
  double total = 0, covered_to = 0;
  bool first = true;
  for (const Interval& one : intervals) {
    const double from = first ? one.from_us : std::max(one.from_us, covered_to);
    if (one.to_us > from) total += one.to_us - from;
    covered_to = first ? one.to_us : std::max(covered_to, one.to_us);
    first = false;
  }
  return total;
}

Intervals clipped(const Intervals& intervals, const Interval& to) {
  Intervals result;
  for (const Interval& one : intervals) {
    const Interval part{std::max(one.from_us, to.from_us), std::min(one.to_us, to.to_us)};
    if (part.to_us > part.from_us) result.push_back(part);
  }
  return result;
}

StepSplit split_of(std::int32_t number, const StepSpans& spans) {
  const Intervals waits = clipped(spans.waits, spans.step), tasks = clipped(spans.tasks, spans.step);
  Intervals both = waits;
  both.insert(both.end(), tasks.begin(), tasks.end());
  const double waited_us = length_of_union(waits);
  return {number, (spans.step.to_us - spans.step.from_us) / 1e3, waited_us / 1e3,
          (length_of_union(both) - waited_us) / 1e3, spans.backward_ms};
}

}  // namespace

std::vector<StepSplit> step_split(const RankTrace& trace) {
  std::map<std::int32_t, StepSpans> steps;
  for (const TraceEvent& event : trace.events) {
    StepSpans& spans = steps[event.step];
    const Interval interval{event.start_us, event.start_us + event.duration_us};
    if (event.kind == Kind::kStep) {
      spans.step = interval;
      spans.ended = true;
    } else if (event.kind == Kind::kBackward) {
      spans.backward_ms = event.duration_us / 1e3;
    } else {
      (event.kind == Kind::kWait ? spans.waits : spans.tasks).push_back(interval);
    }
  }
  std::vector<StepSplit> splits;
  for (const auto& [number, spans] : steps) {
    if (spans.ended) splits.push_back(split_of(number, spans));
  }
  return splits;
}

bool has_waits(const RankTrace& trace) {
  return std::any_of(trace.events.begin(), trace.events.end(),
                     [](const TraceEvent& event) { return event.kind == Kind::kWait; });
}

}  // namespace casync::tools
