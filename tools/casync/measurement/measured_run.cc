// SPDX-License-Identifier: Apache-2.0
//
// Makes the simulator's inputs of traces.
#include "tools/casync/measurement/measured_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/median.h"
#include "casync/model/codec_choice.h"
#include "casync/model/mode_text.h"
#include "casync/patterns/partition_count.h"
#include "casync/planner/model_file.h"
#include "casync/planner/search/grouped.h"
#include "casync/simulator/sync_mode.h"
#include "casync/strategies/strategy.h"
#include "tools/casync/codec_facts.h"
#include "tools/casync/measurement/messages.h"

namespace casync::tools {
namespace {

Result<Decision> decision_of(const TracedGradient& traced) {
  for (const std::string& codec : {traced.codec, traced.second_hop}) {
    if (codec.find(" (program ") == std::string::npos) continue;
    return invalid_argument("gradient " + traced.name + ": its codec " + codec +
                            " is a file that the trace does not name");
  }
  if (traced.partitions < 1 || traced.partitions > kMostPartitions) {
    return invalid_argument("gradient " + traced.name + ": " + std::to_string(std::llround(traced.partitions)) +
                            " partitions, expected 1 to " + std::to_string(kMostPartitions));
  }
  const Result<CodecChoice> codec = parse_codec_choice(traced.codec);
  CASYNC_RETURN_IF_ERROR(codec.status());
  const Result<CodecChoice> second = parse_codec_choice(traced.second_hop.empty() ? traced.codec : traced.second_hop);
  CASYNC_RETURN_IF_ERROR(second.status());
  const Result<StrategyKind> strategy = strategy_from(traced.strategy);
  CASYNC_RETURN_IF_ERROR(strategy.status());
  Decision made{*codec, *second, *strategy, static_cast<int>(traced.partitions), static_cast<int>(traced.priority), 0};
  made.servers = {static_cast<int>(traced.servers), traced.dedicated > 0};
  return made;
}

/// A step, or a round of local SGD: of its steps that have ended.
struct StepSpan {
  int steps = 0;
  double seconds = 0, processor_s = 0;
  bool processor_known = true;
  bool exchanges = false;  ///< a gradient of the training took part
};

/// One rank's steps or rounds in which a gradient of the training took part, whole, by number; and seconds of all their
/// tasks.
struct RankTimes {
  std::map<std::int64_t, StepSpan> spans;
  std::array<double, kKindNames.size()> seconds{};
  std::map<std::string, CodecWork> work;  ///< by gradient
};

/// The number of the round of local SGD that a step belongs to, in other modes its own; unset: it is ahead of all.
std::optional<std::int64_t> number_of(std::int32_t step, const SyncMode& mode) {
  if (!mode.is_local()) return step;
  const std::int64_t since = std::int64_t{step} - std::int64_t{mode.from_step};
  if (since < 0) return std::nullopt;
  return since / std::int64_t{mode.every};
}

void add_step(const TraceEvent& event, StepSpan& span) {
  ++span.steps;
  span.seconds += event.duration_us * 1e-6;
  span.processor_s += event.processor_us * 1e-6;
  span.processor_known = span.processor_known && event.processor_us >= 0;
}

void add_work(Kind kind, double seconds, CodecWork& work) {
  if (kind == Kind::kEncode) work.encode_s += seconds;
  if (kind == Kind::kMerge) work.merge_s += seconds;
  if (kind == Kind::kDecode) work.decode_s += seconds;
}

RankTimes times_of(const RankTrace& trace, const std::set<std::string>& names, const SyncMode& mode) {
  RankTimes times;
  for (const TraceEvent& event : trace.events) {
    const std::optional<std::int64_t> number = number_of(event.step, mode);
    if (!number) continue;
    StepSpan& span = times.spans[*number];
    if (event.kind == Kind::kStep) add_step(event, span);
    if (event.gradient < 0) continue;
    if (names.contains(trace.names.names()[static_cast<std::size_t>(event.gradient)])) span.exchanges = true;
  }
  std::erase_if(times.spans, [](const auto& one) { return !one.second.exchanges; });
  // The first step agrees on everything and opens connections, and of the events' first step some may be gone.
  if (!times.spans.empty()) times.spans.erase(times.spans.begin());
  std::erase_if(times.spans, [&](const auto& one) { return one.second.steps < steps_of_exchange(mode); });
  for (const TraceEvent& event : trace.events) {
    const std::optional<std::int64_t> number = number_of(event.step, mode);
    if (!number || !times.spans.contains(*number)) continue;
    times.seconds[static_cast<std::size_t>(event.kind)] += event.duration_us * 1e-6;
    if (event.gradient < 0) continue;
    add_work(event.kind, event.duration_us * 1e-6,
             times.work[trace.names.names()[static_cast<std::size_t>(event.gradient)]]);
  }
  return times;
}

/// The median over these steps, or rounds, of a rank.
OnTheWay on_the_way_of(const OnTheWayOf& all, Rank rank, const RankTimes& times, const SyncMode& mode) {
  std::map<std::int64_t, OnTheWay> sums;
  for (auto at = all.lower_bound({rank, std::numeric_limits<std::int32_t>::min()});
       at != all.end() && at->first.first == rank; ++at) {
    const std::optional<std::int64_t> number = number_of(at->first.second, mode);
    if (!number) continue;
    sums[*number].out_s += at->second.out_s;
    sums[*number].in_s += at->second.in_s;
  }
  std::vector<double> out, in;
  for (const auto& [number, span] : times.spans) {
    out.push_back(sums[number].out_s / span.steps);
    in.push_back(sums[number].in_s / span.steps);
  }
  return {median(std::move(out)), median(std::move(in))};
}

/// Seconds from submitted to done, mean over ranks.
double sync_s_of(const TraceFolder& folder, const std::string& gradient) {
  double sync_ms = 0;
  for (const RankTrace& rank : folder.traces) {
    for (const TracedGradient& own : rank.gradients) {
      if (own.name == gradient) sync_ms += own.mean_ms / static_cast<double>(folder.traces.size());
    }
  }
  return sync_ms * 1e-3;
}

/// The mode, if its steps or rounds are alike on all ranks. InvalidArgument: they are not, or a trace of an older
/// version does not say how long a round is.
Result<SyncMode> mode_of(const RankTrace& trace) {
  const bool has_rounds = trace.mode == "local_sgd";
  const std::optional<SyncMode> local = has_rounds ? local_sgd_from(trace.plan_mode) : std::nullopt;
  if (local) return *local;
  if (!trace.mode.empty()) {
    return invalid_argument(trace.path + ": a run with `" + trace.mode + "`, " +
                            (has_rounds ? "and the trace does not say how many steps a round has"
                                        : "in which each rank has a pace of its own") +
                            ": `casync simulate` predicts it from its plan");
  }
  SyncMode mode;
  mode.staleness = static_cast<std::uint32_t>(trace.staleness);
  return mode;
}

/// The session's settings.
Scenario settings_of(const TraceFolder& folder, const SyncMode& mode) {
  const RankTrace& first = folder.traces.front();
  Scenario scenario;
  scenario.topology = Topology::of(nodes_of(folder));
  scenario.facts_of = facts_of;
  scenario.fusion_bytes = static_cast<Bytes>(first.fusion_bytes);
  scenario.credit_bytes = static_cast<Bytes>(first.credit_bytes);
  scenario.mode = mode;
  return scenario;
}

/// Takes the gradients of a recorded training as the session has exchanged them, with their decisions and times.
Status take_gradients(const TraceFolder& folder, Training&& recorded, MeasuredRun& run) {
  std::map<std::string, const TracedGradient*> traced;
  Plan plan;
  for (const TracedGradient& gradient : folder.traces.front().gradients) {
    traced[gradient.name] = &gradient;
    if (!gradient.members.empty()) plan.groups.push_back({gradient.name, gradient.members, {}});
  }
  Result<GroupedTraining> exchanged = grouped(plan, recorded);
  CASYNC_RETURN_IF_ERROR(exchanged.status());
  for (const TrainedGradient& gradient : exchanged->training.gradients) {
    const auto found = traced.find(gradient.spec.name);
    if (found == traced.end()) {
      return invalid_argument("gradient " + gradient.spec.name + " of " + folder.path +
                              "/model.txtpb is in no trace: they are of different runs");
    }
    const Result<Decision> decision = decision_of(*found->second);
    CASYNC_RETURN_IF_ERROR(decision.status());
    run.scenario.decisions.push_back(*decision);
    run.sync_s.push_back(sync_s_of(folder, gradient.spec.name));
  }
  run.recorded = std::move(recorded);
  run.scenario.training = std::move(exchanged->training);
  return Status::ok();
}

/// Takes the times of whole steps, or of a step in the mean of a whole round: of tasks the mean over ranks and steps,
/// of steps and messages the median of each rank's.
Status take_times(const TraceFolder& folder, MeasuredRun& run) {
  const std::vector<TrainedGradient>& gradients = run.scenario.training.gradients;
  const SyncMode& mode = run.scenario.mode;
  std::set<std::string> names;
  for (const TrainedGradient& gradient : gradients) names.insert(gradient.spec.name);
  run.work.resize(gradients.size());
  const auto ranks = static_cast<double>(folder.traces.size());
  const OnTheWayOf all_messages = on_the_way(messages_of(folder), hosts_of(folder));
  double processor_s = 0;
  bool processors_known = true;
  for (const RankTrace& trace : folder.traces) {
    RankTimes times = times_of(trace, names, mode);
    if (times.spans.empty()) {
      const std::string whole = mode.is_local() ? "rounds of " + text_of(mode) : "steps";
      return invalid_argument(trace.path + ": expected at least two whole " + whole + ": trace a longer run");
    }
    std::vector<double> step_s, step_processor_s;
    double steps = 0;
    for (const auto& [number, span] : times.spans) {
      step_s.push_back(span.seconds / span.steps);
      step_processor_s.push_back(span.processor_s / span.steps);
      steps += span.steps * ranks;
      processors_known = processors_known && span.processor_known;
    }
    const auto seconds = [&](Kind kind) { return times.seconds[static_cast<std::size_t>(kind)] / steps; };
    run.encode_s += seconds(Kind::kEncode);
    run.merge_s += seconds(Kind::kMerge);
    run.decode_s += seconds(Kind::kDecode);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const CodecWork& own = times.work[gradients[i].spec.name];
      run.work[i].encode_s += own.encode_s / steps;
      run.work[i].merge_s += own.merge_s / steps;
      run.work[i].decode_s += own.decode_s / steps;
    }
    const OnTheWay messages = on_the_way_of(all_messages, trace.rank, times, mode);
    run.send_s += messages.out_s / ranks;
    run.recv_s += messages.in_s / ranks;
    processor_s += median(std::move(step_processor_s)) / ranks;
    run.step_s += median(std::move(step_s)) / ranks;
  }
  if (processors_known) run.messages_s = processor_s;
  return Status::ok();
}

/// The way to a model description, to be added to the reason why there is none.
std::string remedy(const TraceFolder& folder, const SyncMode& mode) {
  if (mode == SyncMode{}) return "; CASYNC_RECORD=" + folder.path + " writes it beside the traces";
  return "; a run with `" + text_of(mode) + "` records none: copy that of a run without it, which CASYNC_RECORD writes";
}

}  // namespace

Result<MeasuredRun> measured_run(const TraceFolder& folder) {
  if (!folder.missing.empty()) {
    return invalid_argument(folder.path + ": rank " + std::to_string(folder.missing.front()) + " left no trace");
  }
  const Result<SyncMode> mode = mode_of(folder.traces.front());
  CASYNC_RETURN_IF_ERROR(mode.status());
  Result<Training> training = read_model_file(folder.path + "/model.txtpb");
  if (!training) return Status(training.status().code(), training.status().message() + remedy(folder, *mode));
  MeasuredRun run;
  run.scenario = settings_of(folder, *mode);
  CASYNC_RETURN_IF_ERROR(take_gradients(folder, std::move(*training), run));
  CASYNC_RETURN_IF_ERROR(take_times(folder, run));
  return run;
}

}  // namespace casync::tools
