// SPDX-License-Identifier: Apache-2.0
//
// Steps of a codec of rounds by its interface alone: each rank takes its turn, what they exchange is joined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compll/codec/rounds_codec.h"

namespace casync::compll {

/// Ranks that synchronize one matrix. They commit their states after each step.
class RoundRanks {
 public:
  RoundRanks(const RoundsCodec& codec, std::size_t count, Elements rows, Elements columns);

  /// Returns each rank's result. Sums are taken in the order of the ranks and multiplied by `scale`.
  std::vector<std::vector<float>> step(const std::vector<std::vector<float>>& gradients, std::uint32_t number,
                                       float scale);
  /// The mean over the ranks; all have to have the same bytes.
  std::vector<float> mean(const std::vector<std::vector<float>>& gradients, std::uint32_t number);

  /// A rank's states, zeros until the first step.
  const std::vector<float>& states(std::size_t rank) const { return ranks_[rank].states; }
  /// Results of the exchanges of the last step.
  const std::vector<std::vector<float>>& exchanged() const { return ranks_.front().exchanged; }

 private:
  struct Rank {
    std::vector<float> states, after, scratch, out;
    std::vector<std::vector<float>> exchanged;
  };

  void take_turns(std::uint32_t turn, const std::vector<std::vector<float>>& gradients, std::uint32_t number);
  void join(std::uint32_t round, float scale);

  const RoundsCodec& codec_;
  Elements rows_, columns_;
  std::vector<Rank> ranks_;
};

}  // namespace casync::compll
