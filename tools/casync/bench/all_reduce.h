// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "casync/model/plan.h"
#include "tools/casync/bench/table.h"

namespace casync::tools {

struct AllReduceOptions {
  std::vector<Bytes> sizes;
  int iterations = 20;    ///< measured, after
  int warm_up = 5;        ///< that many that are not
  std::string transport;  ///< as SessionOptions
  CodecChoice codec;
  std::optional<StrategyKind> strategy;
  std::string plan_file;  ///< instead of codec and strategy
  bool check = true;
  double timeout_s = 0;         ///< as SessionOptions
  std::string trace_directory;  ///< "": no timeline
  Format format = Format::kText;
};

/// Measures averaging of float32 gradients among the ranks of the job that this process is in, one row per size;
/// rank 0 prints. The clock runs from submit() until step() returns. With `check` the first step's result is
/// compared, ahead of all measuring: codec none with strategy ps bit for bit with the sum in rank order, all
/// others bit for bit with the same graphs carried out locally.
/// Returns whether no element was wrong on this rank. Errors as Session.
Result<bool> bench_all_reduce(const AllReduceOptions& options);

}  // namespace casync::tools
