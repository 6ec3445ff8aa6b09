// SPDX-License-Identifier: Apache-2.0
//
// Makes the simulator's inputs of traces.
#include "tools/casync/measurement/measured_run.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/median.h"
#include "casync/model/codec_choice.h"
#include "casync/patterns/partition_count.h"
#include "casync/planner/model_file.h"
#include "casync/planner/search/grouped.h"
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

/// The steps of one rank in which a gradient of the training took part, whole: seconds of each, and of its tasks.
struct RankTimes {
  std::set<std::int32_t> numbers;
  std::vector<double> steps;
  std::vector<double> processor;  ///< of those that say it
  std::array<double, kKindNames.size()> seconds{};
  std::map<std::string, CodecWork> work;  ///< by gradient
};

void add_work(Kind kind, double seconds, CodecWork& work) {
  if (kind == Kind::kEncode) work.encode_s += seconds;
  if (kind == Kind::kMerge) work.merge_s += seconds;
  if (kind == Kind::kDecode) work.decode_s += seconds;
}

RankTimes times_of(const RankTrace& trace, const std::set<std::string>& names) {
  std::set<std::int32_t> taking_part;
  RankTimes times;
  for (const TraceEvent& event : trace.events) {
    if (event.kind == Kind::kStep) times.numbers.insert(event.step);
    if (event.gradient < 0) continue;
    if (names.contains(trace.names.names()[static_cast<std::size_t>(event.gradient)])) taking_part.insert(event.step);
  }
  // The first step agrees on everything and opens connections, and of the events' first step some may be gone.
  if (!taking_part.empty()) taking_part.erase(taking_part.begin());
  std::erase_if(times.numbers, [&](std::int32_t step) { return !taking_part.contains(step); });
  for (const TraceEvent& event : trace.events) {
    if (!times.numbers.contains(event.step)) continue;
    if (event.kind == Kind::kStep) times.steps.push_back(event.duration_us * 1e-6);
    if (event.kind == Kind::kStep && event.processor_us >= 0) times.processor.push_back(event.processor_us * 1e-6);
    times.seconds[static_cast<std::size_t>(event.kind)] += event.duration_us * 1e-6;
    if (event.gradient < 0) continue;
    add_work(event.kind, event.duration_us * 1e-6,
             times.work[trace.names.names()[static_cast<std::size_t>(event.gradient)]]);
  }
  return times;
}

/// The median over these steps of a rank.
OnTheWay on_the_way_of(const OnTheWayOf& all, Rank rank, const std::set<std::int32_t>& steps) {
  std::vector<double> out, in;
  for (const std::int32_t step : steps) {
    const auto found = all.find({rank, step});
    out.push_back(found == all.end() ? 0 : found->second.out_s);
    in.push_back(found == all.end() ? 0 : found->second.in_s);
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

/// The session's settings.
Scenario settings_of(const TraceFolder& folder) {
  const RankTrace& first = folder.traces.front();
  Scenario scenario;
  scenario.topology = Topology::of(nodes_of(folder));
  scenario.facts_of = facts_of;
  scenario.fusion_bytes = static_cast<Bytes>(first.fusion_bytes);
  scenario.credit_bytes = static_cast<Bytes>(first.credit_bytes);
  scenario.mode.staleness = static_cast<std::uint32_t>(first.staleness);
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

/// Takes the times of whole steps: of tasks the mean over ranks and steps, of steps and messages the median of each
/// rank's.
Status take_times(const TraceFolder& folder, MeasuredRun& run) {
  const std::vector<TrainedGradient>& gradients = run.scenario.training.gradients;
  std::set<std::string> names;
  for (const TrainedGradient& gradient : gradients) names.insert(gradient.spec.name);
  run.work.resize(gradients.size());
  const auto ranks = static_cast<double>(folder.traces.size());
  const OnTheWayOf all_messages = on_the_way(messages_of(folder), hosts_of(folder));
  double processor_s = 0;
  bool processors_known = true;
  for (const RankTrace& trace : folder.traces) {
    RankTimes times = times_of(trace, names);
    if (times.steps.empty()) {
      return invalid_argument(trace.path + ": expected at least two whole steps: trace a longer run");
    }
    const double steps = static_cast<double>(times.steps.size()) * ranks;
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
    const OnTheWay messages = on_the_way_of(all_messages, trace.rank, times.numbers);
    run.send_s += messages.out_s / ranks;
    run.recv_s += messages.in_s / ranks;
    processors_known = processors_known && times.processor.size() == times.steps.size();
    processor_s += median(std::move(times.processor)) / ranks;
    run.step_s += median(std::move(times.steps)) / ranks;
  }
  if (processors_known) run.messages_s = processor_s;
  return Status::ok();
}

}  // namespace

Result<MeasuredRun> measured_run(const TraceFolder& folder) {
  if (!folder.missing.empty()) {
    return invalid_argument(folder.path + ": rank " + std::to_string(folder.missing.front()) + " left no trace");
  }
  const RankTrace& first = folder.traces.front();
  if (!first.mode.empty()) {
    return invalid_argument(first.path + ": a run with `" + first.mode +
                            "`, whose steps do not all exchange gradients with all ranks: `casync simulate` predicts " +
                            "them from its plan");
  }
  Result<Training> training = read_model_file(folder.path + "/model.txtpb");
  if (!training) {
    return Status(training.status().code(),
                  training.status().message() + "; CASYNC_RECORD=" + folder.path + " writes it beside the traces");
  }
  MeasuredRun run;
  run.scenario = settings_of(folder);
  CASYNC_RETURN_IF_ERROR(take_gradients(folder, std::move(*training), run));
  CASYNC_RETURN_IF_ERROR(take_times(folder, run));
  return run;
}

}  // namespace casync::tools
