// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "casync/planner/search/limits.h"
#include "casync/planner/search/request.h"

namespace casync::tools {

/// The arguments of `casync plan` and `casync explain`.
struct PlanInputs {
  std::string profile, model;
  std::string run;  ///< a folder of traces and a model: instead of model, ranks and nodes, and to correct the profile
  int ranks = 0, nodes = 0;
  std::vector<std::string> codecs;
  bool goal_is_loss = true;  ///< the least time to a loss, else the least time of a step
  double most_steps = 1.2;   ///< with that goal and neither list nor budget: of steps without compression
  std::optional<double> max_error;
  std::string rules;      ///< a plan to stay within; "": none
  std::string gradients;  ///< samples of gradients to measure codecs on; "": the run's, if it left any
  /// Codecs in addition to those within max_error: usable if within a budget, even if another one is better.
  std::vector<CodecChoice> judged;
  std::uint32_t warm_up_steps = 0;
  SyncMode mode;
  bool allow_modes = false;  ///< the planner may choose a mode

  /// Codecs are chosen by the losses of trainings, and not by a budget or a list.
  bool by_loss() const { return goal_is_loss && !max_error && codecs.empty(); }
  double budget() const { return max_error.value_or(kUnsaidError); }
};

void add_plan_inputs(CLI::App& command, PlanInputs& inputs);

/// The options that a search needs and that are not given, as "--model and --ranks are missing"; "" if none is.
std::string missing_options(const PlanInputs& inputs);

struct ReadInputs {
  PlanRequest request;
  std::string profile_digest;
  std::vector<std::string> remarks;  ///< a run's changes to the profile, oddities of rules and samples
};

/// Reads the files and finds the codecs. Errors as read_profile_file, read_model_file, read_gradient_samples and
/// take_limits.
Result<ReadInputs> read_plan_inputs(const PlanInputs& inputs);

/// The digest of a file's bytes: 16 hexadecimal digits.
std::string digest_of_file(const std::string& text);

}  // namespace casync::tools
