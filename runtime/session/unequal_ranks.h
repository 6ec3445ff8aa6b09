// SPDX-License-Identifier: Apache-2.0
//
// Ranks that are faster or slower than the others, found by their own times.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "casync/simulator/training.h"
#include "runtime/session/rank_paces.h"

namespace casync::runtime {

inline constexpr int kLeastPaceSteps = 16;           ///< fewer say nothing of a rank
inline constexpr double kLeastPacePart = 0.05;       ///< of the middle rank's median
inline constexpr double kLeastPaceSeconds = 100e-6;  ///< calls of a session take as long by chance

/// Adds to the description of rank 0's training the ranks that differ from the middle one. The middle rank is that with
/// the median of the ranks' medians, of two the faster one. A rank differs if its median is off by more than either's
/// scatter, by more than kLeastPacePart of the middle one's median, and by more than kLeastPaceSeconds. If any differs
/// the passes become the middle rank's, which rank 0's are scaled to, and factors are those to it, in hundredths.
/// Paces of fewer than kLeastPaceSteps steps do not count; without rank 0's own nothing is compared.
void add_unequal_ranks(const std::map<Rank, Pace>& paces, Training& training);

/// The ranks that cannot be compared with rank 0, and why: "rank 2 left without a goodbye; ranks 3, 4 recorded
/// nothing". "": all can, or `own`, rank 0's pace, does not count.
std::string not_compared(int ranks, const Pace& own, const std::map<Rank, std::optional<Pace>>& others);

}  // namespace casync::runtime
