// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "casync/simulator/simulate.h"
#include "tools/casync/report/trace_folder.h"

namespace casync::tools {

/// A run that left its traces (CASYNC_TRACE) and its model description (CASYNC_RECORD) in one folder: what the
/// simulator needs to predict it, and what it measured. Times are medians over steps, and means over ranks.
struct MeasuredRun {
  Scenario scenario;  ///< but for the profile
  double step_s = 0;
  double encode_s = 0, merge_s = 0, decode_s = 0;  ///< in a step
  std::vector<double> sync_s;                      ///< by position in the training's gradients: submitted to done
};

/// InvalidArgument: no model.txtpb beside the traces, a gradient of it that no trace has, no whole step of them, a rank
/// without a trace, a codec that cannot be named. Errors as read_model_file.
Result<MeasuredRun> measured_run(const TraceFolder& folder);

/// One term of a step, measured and predicted.
struct Term {
  std::string name;
  double measured_s = 0, predicted_s = 0;
};

/// A prediction beside its measurement.
struct Comparison {
  std::vector<Term> terms;      ///< step, encode, merge, decode, exposed
  std::vector<Term> gradients;  ///< those with the largest difference first
  std::string verdict;          ///< how far the step is off, and which term by most
  std::string to_blame;         ///< that term: "encode", "merge", "decode"; "exposed" where codecs do not explain it
};
/// Errors as simulate.
Result<Comparison> compare(const MeasuredRun& run, const Profile& profile);

/// The profile as this run shows it: codecs' curves times what they took over what was predicted, and the links' times
/// such that the step is as long as measured, within a tenth to ten times of what they were. `changes` says so in
/// words. Errors as simulate.
struct Correction {
  Profile profile;
  std::vector<std::string> changes;
};
Result<Correction> corrected(const MeasuredRun& run, const Profile& profile);

std::string comparison_text(const Comparison& comparison);
nlohmann::ordered_json comparison_json(const Comparison& comparison);

}  // namespace casync::tools
