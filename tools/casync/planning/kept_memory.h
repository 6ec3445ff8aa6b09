// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/status.h"
#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "casync/simulator/rounds.h"

namespace casync::tools {

/// The memory that a rank takes for what codecs keep from step to step, by each gradient's residual_memory; with gossip
/// for the copies of parameters instead. Without the sums of owners of asynchronous ranks.
class KeptMemory {
 public:
  /// By this mode, in a job of so many ranks.
  KeptMemory(const SyncMode& mode, int ranks) : mode_(mode), ranks_(ranks) {}

  /// Adds a gradient. `rounds`: as rounds_of() has made them of `decision`. PlanError: as
  /// check_residual_memory. Others as compll::make_codec.
  Status add(const Decision& decision, const std::optional<Rounds>& rounds, const GradientSpec& spec);

  /// "each rank keeps 202 MB from step to step: 8.00 bytes an element, 4.00 with residual_memory one_buffer"; "" if
  /// nothing is kept.
  std::string text() const;
  nlohmann::ordered_json json() const;

 private:
  void add_copies(const GradientSpec& spec);

  SyncMode mode_;
  int ranks_;
  double elements_ = 0;  ///< of gradients of which anything is kept
  double bytes_ = 0;
  double least_ = 0;  ///< bytes with one buffer where that is allowed
};

/// As compll::check_one_buffer or compll::check_bfloat16. Others as compll::make_codec.
Status check_residual_memory(ResidualMemory memory, const CodecChoice& choice);

/// The memory of these gradients by `plan`. Errors as KeptMemory::add and rounds_of.
Result<KeptMemory> kept_memory(const Plan& plan, std::span<const GradientSpec> gradients, int ranks);

}  // namespace casync::tools
