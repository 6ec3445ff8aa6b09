// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"
#include "runtime/session/late_gradient.h"
#include "runtime/session/late_gradients.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// The late results of a state that was loaded (runtime/session/late_states.h), until their gradients are declared and
/// take them. Under the session's lock.
class LoadedResults {
 public:
  explicit LoadedResults(std::uint32_t staleness) : staleness_(staleness) {}

  /// InvalidArgument: the state's results come another number of steps late, or are not of a gradient's size.
  Status check(const SessionState& state, const LateGradients& gradients) const;
  /// Has those of `state`, and no others.
  void load(const SessionState& state);
  /// Gives a gradient without submissions its results. InvalidArgument: not of its size. Unavailable: as LateMemory.
  Status give(LateGradient& gradient);
  /// Adds those that no gradient has taken to `state`.
  void save(SessionState& state) const { state.gradients.insert(results_.begin(), results_.end()); }

 private:
  const std::uint32_t staleness_;
  std::map<std::string, GradientState> results_;  ///< by name in the state
};

}  // namespace casync::runtime
