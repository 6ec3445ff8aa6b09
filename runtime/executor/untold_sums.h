// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "compll/codec/codec.h"

namespace casync::runtime {

/// Sets each of `arrays` to the mean of those that count, by rank.
void level_arrays(std::span<float* const> arrays, const std::vector<bool>& counts, Elements elements);

/// The owner's memory of one partition of asynchronous ranks: for each rank the sum of all contributions
/// that it has not been told, and the residual of the answers to it. A contribution is added to the sums of all ranks.
/// An answer is the code of the rank's sum, scaled, plus its residual. So of each element, but for rounding,
///
///   what a rank has been told + its residual + scale * its sum = scale * all contributions
///
/// Late contributions are never dropped (as in eager-SGD, Li et al. 2020). One thread at a time.
class UntoldSums {
 public:
  /// Makes sums of `elements` elements for each of `ranks` ranks; `residuals`: the codec of answers keeps them.
  UntoldSums(int ranks, Elements elements, bool residuals);

  /// The floats that this takes: sums, and residuals with one to spare.
  Elements floats() const { return elements_ * (ranks_.size() * (residuals_ ? 2 : 1) + (residuals_ ? 1 : 0)); }
  /// Gives it this memory, once.
  void lie_at(float* memory);
  Elements elements() const { return elements_; }

  void add(const float* contribution);
  /// A contribution is not finite: ranks are told that, and none of its values.
  void leave_out();
  /// The rank needs no sum any more.
  void end(Rank rank) { of(rank).ended = true; }

  /// Makes the answer to `rank`, in the code of `second`, and empties its sum. `first`: the codec of contributions,
  /// whose merge scales the sum. After leave_out() it is zeros that are not finite, and the sum stays for the next
  /// answer.
  compll::Encoded answer(Rank rank, const compll::Codec& first, const compll::Codec& second, float scale,
                         const compll::EncodeContext& context, std::byte* payload);

  /// Gives all ranks the mean of the sums and residuals of those that count, by rank.
  void level(const std::vector<bool>& counts);

  /// The sum and the residual, which have to be the same for all ranks: state_floats() floats.
  Elements state_floats() const { return elements_ * (residuals_ ? 2 : 1); }
  void read(float* to) const;
  /// Null: nothing is untold.
  void write(const float* from);

 private:
  struct OfRank {
    float* sum = nullptr;
    float* residual = nullptr;
    bool empty = true;  ///< sum is none, whatever its memory has
    bool whole = true;  ///< no contribution has been left out since the last answer
    bool ended = false;
  };
  OfRank& of(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  void fill(OfRank& one);

  const Elements elements_;
  const bool residuals_;
  std::vector<OfRank> ranks_;
  float* spare_ = nullptr;  ///< the residual that is written next
};

}  // namespace casync::runtime
