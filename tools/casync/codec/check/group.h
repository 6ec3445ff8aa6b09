// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "compll/codec/codec.h"
#include "tools/casync/codec/check/properties.h"

namespace casync::tools {

/// Ranks that synchronize one gradient step after step, as sessions do: each encodes its own, one of them merges, each
/// decodes and makes its result. All keep their states.
class CodecGroup {
 public:
  CodecGroup(const compll::Codec& codec, std::size_t ranks, Elements n);

  /// The mean over the ranks, by this step's number.
  void step(const std::vector<std::vector<float>>& gradients, std::uint32_t number);
  const std::vector<float>& result(std::size_t rank) const { return results_[rank]; }

 private:
  const compll::Codec& codec_;
  Elements n_;
  std::vector<std::vector<float>> of_encode_, of_result_, results_;
  std::vector<float> of_merge_;
};

/// The number of steps for which a codec whose error may grow is watched: an interpreter is slow.
enum class Length { kShort, kLong };

/// Checks that 2 and 3 ranks have the same results in every step, and that the sum of all results stays as near to the
/// sum of all means. Leaves out the second check for a codec that keeps nothing.
///
/// The gradients are random and independent, so an error that comes and goes adds up to no more than a constant times
/// the gradients' own sum, and an error of one sign to a share that doubles as the steps do. A value that one rank
/// subtracts and no other adds, or that is sent twice, stays in all later results: its share quadruples.
Verdict check_steps(const compll::Codec& codec, Length length);

}  // namespace casync::tools
