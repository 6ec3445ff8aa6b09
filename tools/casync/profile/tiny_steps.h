// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace casync::tools {

struct TinyStepOptions {
  std::string transport;
  double seconds = 0.3;  ///< of steps of one size
};

/// A step of many tiny gradients, as one of two ranks has it.
struct TinyStep {
  double gradients = 0;
  double tasks = 0, messages = 0;  ///< of this rank; messages that it sends
  double seconds = 0;              ///< from the first submission to the step's end, the least
};

struct TinySteps {
  std::vector<TinyStep> bundled;  ///< gradients travel in bundles, as plans have it when they say nothing
  std::vector<TinyStep> fused;    ///< in two partitions each, which are no bundles: only messages travel together
  std::vector<TinyStep> single;   ///< each message alone
};

/// Real sessions in this process and in one that it forks: the costs of a step without codecs, as its gradients are not
/// encoded, and without bytes, as they have 256. Call ahead of starting threads in this process. Errors as Session.
Result<TinySteps> measure_tiny_steps(const TinyStepOptions& options);

}  // namespace casync::tools
