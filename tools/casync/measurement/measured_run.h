// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "casync/simulator/simulate.h"
#include "tools/casync/trace/trace_folder.h"

namespace casync::tools {

/// A run that left its traces (CASYNC_TRACE) and its model description (CASYNC_RECORD) in one folder: what the
/// simulator needs to predict it, and what it measured. Times are medians over steps, and means over ranks. With local
/// SGD they are of a step in the mean of its round: medians over rounds.
struct MeasuredRun {
  Training recorded;  ///< as the model description has it
  /// But for the profile. A group of gradients is one of its training's.
  Scenario scenario;
  double step_s = 0;
  double encode_s = 0, merge_s = 0, decode_s = 0;  ///< in a step
  double send_s = 0, recv_s = 0;                   ///< of a step, with a message on its way out and in (OnTheWay)
  std::optional<double> messages_s;  ///< processor time of the session's threads beyond codecs; unset: an older trace
  std::vector<double> sync_s;        ///< of an exchange, by position in the training's gradients: submitted to done
  std::vector<CodecWork> work;       ///< alike: of its tasks
};

/// InvalidArgument: a run with gossip or asynchronous, in which each rank has a pace of its own, or with local_sgd in
/// traces of an older version, which do not say its rounds; no model.txtpb with the traces, a gradient of it that no
/// trace has, no whole step or round of them, a rank without a trace, a codec that cannot be named. Errors as
/// read_model_file and grouped.
Result<MeasuredRun> measured_run(const TraceFolder& folder);

/// One term of a step, measured and predicted.
struct Term {
  std::string name;
  double measured_s = 0;
  std::optional<double> predicted_s;  ///< unset: not predicted
};

/// A prediction compared with its measurement.
struct Comparison {
  /// step, encode, merge, decode, send, recv, messages, exposed. Without messages where they were not measured; they
  /// are not predicted from a profile without their processor time, nor are send and recv of more tasks than are
  /// simulated with spans, in all steps that are drawn for a jitter.
  std::vector<Term> terms;
  std::vector<Term> gradients;        ///< those with the largest difference first
  std::string verdict;                ///< how far the step is off, and which term by most
  double plain_step_s = 0;            ///< predicted length of the step with every gradient uncompressed
  std::optional<double> int4_step_s;  ///< the same with `int4` for all but vectors
  std::string to_blame;  ///< that term, of encode to messages; "exposed" where none of them explains the step
};
/// Tasks of all ranks in the steps that are simulated: 2 million take 250 MB while they are looked at.
inline constexpr std::uint64_t kMostTasksWithSpans = 2'000'000;
/// Errors as simulate.
Result<Comparison> compare(const MeasuredRun& run, const Profile& profile,
                           std::uint64_t most_with_spans = kMostTasksWithSpans);

/// The profile as this run shows it: each codec's curves times what its tasks took over what was predicted of them, or,
/// if the run has not used it, what all codecs took over what was predicted; messages' processor time and what tasks
/// cost times theirs, where both are known, and the links' other times such that the step is as long as measured. All
/// within a tenth to ten times of what they were. `changes` says so in words. Errors as simulate.
struct Correction {
  Profile profile;
  std::vector<std::string> changes;
};
Result<Correction> corrected(const MeasuredRun& run, const Profile& profile);

std::string comparison_text(const Comparison& comparison);
nlohmann::ordered_json comparison_json(const Comparison& comparison);

}  // namespace casync::tools
