// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "tools/casync/bench/table.h"

namespace casync::tools {

struct StepBenchOptions {
  std::string model;                              ///< a model description: which gradients, and when
  std::vector<std::string> plans;                 ///< one row each; "": nothing is encoded
  std::string profile;                            ///< "": nothing is predicted
  double seconds = 2;                             ///< measured for each plan, and at least five steps
  int warm_up = 3;                                ///< steps ahead of them
  std::string transport;                          ///< as SessionOptions
  double timeout_s = 0;                           ///< as SessionOptions
  std::string trace_directory, record_directory;  ///< as SessionOptions; of one plan
  Format format = Format::kText;
};

/// Trains what `model` describes, as far as a network can tell: gradients are submitted when the description has them
/// ready, the forward pass stops where one that it needs is not there, and computing is waiting, as on a device
/// that leaves the processors alone. One session and one row for each plan, in the job that this process is in; rank 0
/// prints. A step is measured from the moment all ranks may begin until the last one has ended it; in a mode of the
/// plan, rank 0 measures steps or rounds of them that follow each other. InvalidArgument: traces or a record of several
/// plans. Errors as Session, read_model_file, read_plan_file, read_profile_file, simulate.
Status bench_step(const StepBenchOptions& options);

}  // namespace casync::tools
