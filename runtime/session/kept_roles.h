// SPDX-License-Identifier: Apache-2.0
//
// A residual's role says how much it counts: that of a rank's contribution as much as the contribution, that of the
// result, which an owner encodes, wholly. Owners depend on all gradients that are declared together, so a state may
// come from a run with others.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// The ranges of elements that this rank encodes with codecs that keep something, ascending. A rank on the way to the
/// owner sends a sum, which counts as its own contribution does.
struct KeptRoles {
  std::vector<GradientState::Range> owned;  ///< as the owner
  std::vector<GradientState::Range> sent;   ///< as a contribution

  bool operator==(const KeptRoles&) const = default;
};

/// Empty where no role says how much counts: codecs of rounds, and gossip's copies. Of asynchronous ranks the
/// partitions that this one owns, in the order in which its state has their sums.
KeptRoles roles_of(const GradientRun& run);

/// A range of the state that is not within so many elements; null: all are.
const GradientState::Range* range_outside(const GradientState& state, Elements elements);
/// The words for an error about such a range.
std::string text_of_outside(const GradientState::Range& range, Elements elements);

/// Returns true if the run keeps nothing but the values that were not sent.
bool keeps_residual_alone(const GradientRun& run);

/// Returns true if the state says its roles, and the run has others.
bool has_other_roles(const GradientRun& run, const GradientState& state);
/// InvalidArgument: the state is of another operation, or of other owners, and cannot be converted for these.
Status check_roles(const GradientRun& run, const GradientState& state, ReduceOp op, int ranks);
/// Converts a checked state with other roles: its residual for the run's roles, where it counts as much as before.
std::vector<float> in_roles_of(const GradientRun& run, const GradientState& state, ReduceOp op, int ranks);

}  // namespace casync::runtime
