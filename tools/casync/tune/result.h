// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"

namespace casync::tools {

/// One way to synchronize, as its traced steps measured it.
struct TunedWay {
  std::string name;       ///< "uncompressed", "plan", or a codec
  double step_ms = 0;     ///< median over steps without the first, mean over this machine's ranks
  double exposed_ms = 0;  ///< of it, the program waited for gradients
  double sent_bytes = 0;  ///< payload of one rank in a step
  double error = 0;       ///< squared error over squared values of one encoding, mean over elements
};

/// Reads the step times of the traces in `folder`. Errors as read_trace_folder; InvalidArgument: fewer than three
/// traced steps, or gradients that did not use `codec` (empty: any), because the program names its codec itself.
Result<TunedWay> measured_way(const std::string& name, const std::string& folder, const std::string& codec);

/// Fills in each way's error: of the codec called like the way, of the plan in `plan`, or 0. Recorded gradients are
/// read from `record`. Errors as read_model_file, read_gradient_samples, read_plan_file, make_codec.
Status add_errors(std::vector<TunedWay>& ways, const std::string& record, const std::string& plan, int ranks);

/// A table with the first way as the reference, and one sentence that names the fastest.
std::string text_of(const std::vector<TunedWay>& ways);
nlohmann::ordered_json json_of(const std::vector<TunedWay>& ways);

}  // namespace casync::tools
