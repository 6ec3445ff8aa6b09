// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "compll/codec/codec.h"

namespace casync::tools {

/// A codec, and its own properties to check in addition to those of all codecs.
struct Checked {
  const compll::Codec& codec;
  const compll::Codec* meaning = nullptr;  ///< the same, interpreted; null: nothing to compare with
  bool contractive = false;
  bool unbiased = false;
};

/// The result for one property.
struct Verdict {
  enum class State {
    kHolds,
    kNote,  ///< broken at the ends of float's range only: a remark
    kFails,
  };
  std::string property;
  State state = State::kHolds;
  std::string detail;  ///< the first gradient that breaks it, and how
};

/// Tries the codec on gradients of all sizes and sorts, and on payloads that were tampered with. In a fixed order, the
/// same in every run.
std::vector<Verdict> check_properties(const Checked& checked);

/// The first property that fails on fewer gradients, without those that the codec declares of itself; "" where all
/// hold.
std::string broken_property(const Checked& checked);

/// Returns true if no property fails.
bool all_hold(const std::vector<Verdict>& verdicts);

}  // namespace casync::tools
