// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "tools/casync/tune/ranks.h"

namespace casync::tools {

/// The arguments of `casync tune`.
struct TuneOptions {
  int ranks = 0;
  int steps = 20;
  double phase_s = 600;
  std::string directory = "tuned";
  std::string profile;  ///< "": measured
  std::string device;   ///< as casync profile's
  std::vector<std::string> codecs = {"int8", "int4"};
  std::string goal = "loss";
  bool fresh = false, json = false;
  std::vector<std::string> program;
};

/// The names with commas between them.
std::string joined(const std::vector<std::string>& names);

/// Runs all phases on this rank; rank 0 prints the result. Collective. To be called by the main thread. Ahead of all
/// phases InvalidArgument: the folder has somebody else's file of a name that is needed; and errors as facts_of and
/// read_profile_input. Errors as run_phase, measured_way, add_losses, text_of_plan; Unavailable: a file in the folder
/// cannot be written or removed.
Status run_tuning(const TuneOptions& options, TuneRanks& ranks);

}  // namespace casync::tools
