// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "casync/simulator/training.h"

namespace casync::tools {

inline constexpr const char* kUncompressed = "uncompressed";
inline constexpr const char* kPlanned = "plan";

/// One way to synchronize, as its traced steps measured it.
struct TunedWay {
  std::string name;       ///< kUncompressed, kPlanned, or a codec
  double step_ms = 0;     ///< median over steps without the first, mean over this machine's ranks
  double exposed_ms = 0;  ///< of it, the program waited for gradients
  double sent_bytes = 0;  ///< payload of one rank in a step
  double error = 0;       ///< squared error over squared values of one encoding, mean over elements
  /// Steps to the same loss over those without compression, mean over elements (more_steps()). Empty: the way has a
  /// codec without trainings.
  std::optional<double> steps = 1;
};

/// Reads the step times of the traces in `folders`, one for each run of the way: the mean over runs. Errors as
/// read_trace_folder; InvalidArgument: fewer than three traced steps, or a gradient of `training` that used another
/// codec, or other parameters of it, than the way's sessions do, because the program names its codec or plan itself.
/// `plan`: the file of kPlanned, which is read for that way alone; errors as read_plan_file.
Result<TunedWay> measured_way(const std::string& name, const std::vector<std::string>& folders, const std::string& plan,
                              const Training& training, int ranks);

/// Fills in each way's error and steps: of the codec called like the way, of the plan in `plan`, or none. Recorded
/// gradients are read from `record`. Errors as read_model_file, read_gradient_samples, read_plan_file, make_codec.
Status add_losses(std::vector<TunedWay>& ways, const std::string& record, const std::string& plan, int ranks);

/// A table with the first way as the reference.
std::string text_of(const std::vector<TunedWay>& ways);
nlohmann::ordered_json json_of(const std::vector<TunedWay>& ways);

}  // namespace casync::tools
