// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/measurement/numbers.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/dtype.h"
#include "base/median.h"
#include "tools/casync/measurement/step_split.h"

namespace casync::tools {
namespace {

using Json = nlohmann::ordered_json;

double per(double total, double count) { return count > 0 ? total / count : 0; }

/// The steps of one rank's events, and the split of their time. The first step agrees on declarations and connects,
/// so medians leave it out where there is a second one.
struct StepTimes {
  std::set<std::int32_t> steps;
  std::vector<StepSplit> splits;
  bool waits_known = false;
};

StepTimes step_times(const RankTrace& trace) {
  StepTimes times;
  for (const TraceEvent& event : trace.events) {
    if (event.step >= 0) times.steps.insert(event.step);
  }
  times.splits = step_split(trace);
  times.waits_known = has_waits(trace);
  return times;
}

double median_of(const StepTimes& times, double StepSplit::*field) {
  std::vector<double> values;
  for (std::size_t i = times.splits.size() > 1 ? 1 : 0; i < times.splits.size(); ++i) {
    values.push_back(times.splits[i].*field);
  }
  return median(std::move(values));
}

/// The median over the steps that say it; null: none does.
Json backward_ms(const StepTimes& times) {
  std::vector<double> values;
  for (std::size_t i = times.splits.size() > 1 ? 1 : 0; i < times.splits.size(); ++i) {
    if (times.splits[i].backward_ms) values.push_back(*times.splits[i].backward_ms);
  }
  return values.empty() ? Json() : Json(median(std::move(values)));
}

double steps_of(const RankTrace& trace, const StepTimes& times) {
  return trace.stats.steps > 0 ? trace.stats.steps : static_cast<double>(times.steps.size());
}

Json task_numbers(const RankTrace& trace, std::size_t traced_steps) {
  std::array<double, kKindNames.size()> count{}, total_us{};
  for (const TraceEvent& event : trace.events) {
    if (!is_task(event.kind)) continue;
    count[static_cast<std::size_t>(event.kind)] += 1;
    total_us[static_cast<std::size_t>(event.kind)] += event.duration_us;
  }
  Json tasks = Json::object();
  for (std::size_t kind = 0; kind < kKindNames.size(); ++kind) {
    if (!is_task(static_cast<Kind>(kind))) continue;
    tasks[kKindNames[kind]] = {{"count", count[kind]},
                               {"ms_per_step", per(total_us[kind] / 1e3, static_cast<double>(traced_steps))}};
  }
  return tasks;
}

Json rank_numbers(const RankTrace& trace, const StepTimes& times) {
  const double steps = steps_of(trace, times);
  return {{"rank", trace.rank},
          {"host", trace.host},
          {"steps", steps},
          {"ms_per_step", median_of(times, &StepSplit::step_ms)},
          {"first_step_ms", times.splits.empty() ? 0 : times.splits.front().step_ms},
          {"exposed_ms_per_step", median_of(times, &StepSplit::exposed_ms)},
          {"hidden_ms_per_step", median_of(times, &StepSplit::hidden_ms)},
          {"backward_ms_per_step", backward_ms(times)},
          {"tasks", task_numbers(trace, times.steps.size())},
          {"payload_bytes_per_step", per(trace.stats.payload_bytes_sent, steps)},
          {"wire_bytes_per_step", per(trace.stats.wire_bytes_sent, steps)},
          {"messages_per_step", per(trace.stats.messages_sent, steps)},
          {"idle_s", trace.stats.idle_s},
          {"allocations", trace.stats.allocations},
          {"events", trace.events.size()},
          {"ignored_events", trace.ignored},
          {"dropped_events", trace.dropped}};
}

double bytes_in_memory(const TracedGradient& gradient) {
  return gradient.elements * static_cast<double>(bytes_of(dtype_from(gradient.dtype).value_or(DType::kFloat32)));
}

/// Bytes that a rank would send of this per step if it went uncompressed through the best all-reduce, or, scattered,
/// through the best reduce-scatter.
double plain_bytes(const TracedGradient& gradient, int ranks) {
  return bytes_in_memory(gradient) * (gradient.scattered ? 1 : 2) * (ranks - 1) / ranks;
}

/// A scattered gradient's way is no strategy of a plan.
std::string way_of(const TracedGradient& gradient) { return gradient.scattered ? "reduce_scatter" : gradient.strategy; }

/// Every gradient once, in the order of the first rank that has it; bytes and times are means over the ranks.
Json gradient_numbers(const TraceFolder& folder) {
  std::vector<TracedGradient> merged;
  std::vector<double> counted;
  std::map<std::string, std::size_t> index;
  for (const RankTrace& trace : folder.traces) {
    for (const TracedGradient& gradient : trace.gradients) {
      const auto [found, added] = index.try_emplace(gradient.name, merged.size());
      if (added) {
        merged.push_back(gradient);
        counted.push_back(1);
        continue;
      }
      merged[found->second].payload_bytes += gradient.payload_bytes;
      merged[found->second].mean_ms += gradient.mean_ms;
      merged[found->second].exposed_ms += gradient.exposed_ms;
      counted[found->second] += 1;
    }
  }
  Json all = Json::array();
  for (std::size_t i = 0; i < merged.size(); ++i) {
    const TracedGradient& gradient = merged[i];
    all.push_back({{"name", gradient.name},
                   {"elements", gradient.elements},
                   {"dtype", gradient.dtype},
                   {"codec", gradient.codec},
                   {"second_hop", gradient.second_hop},
                   {"strategy", way_of(gradient)},
                   {"servers", gradient.servers},
                   {"dedicated", gradient.dedicated},
                   {"partitions", gradient.partitions},
                   {"priority", gradient.priority},
                   {"bytes", bytes_in_memory(gradient)},
                   {"payload_bytes", gradient.payload_bytes / counted[i]},
                   {"ratio", per(plain_bytes(gradient, folder.ranks), gradient.payload_bytes / counted[i])},
                   {"steps", gradient.steps},
                   {"mean_ms", gradient.mean_ms / counted[i]},
                   {"exposed_ms", gradient.exposed_ms / counted[i]}});
  }
  return all;
}

/// Each step with the slowest rank's length and wait: a curve over the job.
Json series(const std::vector<StepTimes>& ranks) {
  std::map<std::int32_t, StepSplit> slowest;
  for (const StepTimes& times : ranks) {
    for (const StepSplit& split : times.splits) {
      StepSplit& most = slowest[split.step];
      most.step_ms = std::max(most.step_ms, split.step_ms);
      most.exposed_ms = std::max(most.exposed_ms, split.exposed_ms);
    }
  }
  Json step = Json::array(), step_ms = step, exposed_ms = step;
  for (const auto& [number, split] : slowest) {
    step.push_back(number);
    step_ms.push_back(split.step_ms);
    exposed_ms.push_back(split.exposed_ms);
  }
  return {{"step", std::move(step)}, {"ms", std::move(step_ms)}, {"exposed_ms", std::move(exposed_ms)}};
}

double mean_over_ranks(const Json& by_rank, const char* field) {
  double total = 0;
  for (const Json& rank : by_rank) total += rank[field].get<double>();
  return per(total, static_cast<double>(by_rank.size()));
}

/// The mean over ranks that know it; null: none does.
Json known_mean(const Json& by_rank, const char* field) {
  double total = 0, count = 0;
  for (const Json& rank : by_rank) {
    if (rank[field].is_null()) continue;
    total += rank[field].get<double>();
    count += 1;
  }
  return count > 0 ? Json(total / count) : Json();
}

/// Uncompressed bytes of an average step: a gradient need not take part in every one.
double plain_bytes(const TraceFolder& folder, double steps) {
  double total = 0;
  for (const TracedGradient& gradient : folder.traces.front().gradients) {
    total += plain_bytes(gradient, folder.ranks) * gradient.steps;
  }
  return per(total, steps);
}

}  // namespace

nlohmann::ordered_json report_numbers(const TraceFolder& folder) {
  const RankTrace& first = folder.traces.front();
  std::set<std::int32_t> steps;
  std::vector<StepTimes> all_times;
  Json by_rank = Json::array();
  for (const RankTrace& trace : folder.traces) {
    const StepTimes times = step_times(trace);
    steps.insert(times.steps.begin(), times.steps.end());
    by_rank.push_back(rank_numbers(trace, times));
    all_times.push_back(times);
  }
  const double payload = mean_over_ranks(by_rank, "payload_bytes_per_step");
  const double plain = plain_bytes(folder, by_rank.front()["steps"].get<double>());
  const bool waits_known =
      std::any_of(all_times.begin(), all_times.end(), [](const auto& one) { return one.waits_known; });
  Json numbers{{"directory", folder.path},
               {"ranks", folder.ranks},
               {"missing_ranks", folder.missing},
               {"transport", first.transport},
               {"link", first.link},
               {"mode", first.plan_mode.empty() ? first.mode : first.plan_mode},
               {"steps", mean_over_ranks(by_rank, "steps")},
               {"traced_steps", steps.size()},
               {"first_step", steps.empty() ? Json() : Json(*steps.begin())},
               {"last_step", steps.empty() ? Json() : Json(*steps.rbegin())},
               {"ms_per_step", mean_over_ranks(by_rank, "ms_per_step")},
               {"first_step_ms", mean_over_ranks(by_rank, "first_step_ms")},
               {"exposed_ms_per_step", waits_known ? Json(mean_over_ranks(by_rank, "exposed_ms_per_step")) : Json()},
               {"hidden_ms_per_step", waits_known ? Json(mean_over_ranks(by_rank, "hidden_ms_per_step")) : Json()},
               {"backward_ms_per_step", known_mean(by_rank, "backward_ms_per_step")},
               {"payload_bytes_per_rank_step", payload},
               {"wire_bytes_per_rank_step", mean_over_ranks(by_rank, "wire_bytes_per_step")},
               {"plain_bytes_per_rank_step", plain},
               {"ratio", per(plain, payload)}};
  numbers["by_rank"] = std::move(by_rank);
  numbers["series"] = series(all_times);
  numbers["gradients"] = gradient_numbers(folder);
  return numbers;
}

}  // namespace casync::tools
