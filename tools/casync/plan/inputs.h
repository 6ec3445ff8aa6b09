// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "casync/planner/search/request.h"
#include "compll/codec/codec.h"

namespace casync::tools {

/// What `casync plan` and `casync explain` ask for.
struct PlanInputs {
  std::string profile, model;
  std::string run;  ///< a folder of traces and a model: instead of model, ranks and nodes, and to correct the profile
  int ranks = 0, nodes = 0;
  std::vector<std::string> codecs;
  double max_error = 0.03;
  std::uint32_t warm_up_steps = 0;
  SyncMode mode;
};

void add_plan_inputs(CLI::App& command, PlanInputs& inputs);

struct ReadInputs {
  PlanRequest request;
  std::string profile_digest;
  std::vector<std::string> remarks;  ///< what a run has changed in the profile
};

/// Reads the files and finds the codecs. Errors as read_profile_file, read_model_file and make_codec.
Result<ReadInputs> read_plan_inputs(const PlanInputs& inputs);

/// Of a file's bytes: 16 hexadecimal digits.
std::string digest_of_file(const std::string& text);

/// The larger squared error over squared values, of Gaussian values and of heavy tails; what feedback keeps is lost.
double measured_error(const compll::Codec& codec);

}  // namespace casync::tools
