// SPDX-License-Identifier: Apache-2.0
//
// A step of synchronization by the interface of codecs alone, as sessions do it over strategy ps: the others encode,
// the owner (rank 0) merges their codes with its own elements, or with its own code where only codes count, and all
// decode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compll/codec/codec.h"

namespace casync::compll {

/// The states of one function of a codec, one array after the other; empty ahead of the first step.
using KeptStates = std::vector<float>;

/// Ranks that draw the same random numbers: those that the codec declares, all ranks and the owner, or none.
enum class Numbers { kDeclared, kShared, kOwn };

/// Ranks that synchronize one gradient of n elements. They commit their states if the result is finite.
class Ranks {
 public:
  Ranks(const Codec& codec, std::size_t count, Elements n, Numbers numbers = Numbers::kDeclared);

  /// The mean of the ranks' gradients as each rank has it in the end.
  std::vector<std::vector<float>> step(const std::vector<std::vector<float>>& gradients, std::uint32_t number);

  /// The codec's state number `index`, as `encode` left it on a rank, `merge` on the owner and `result` on a rank;
  /// zeros until the first step, and on a rank that does not encode.
  std::vector<float> encoder(std::size_t rank, std::size_t index) const { return state(encoders_[rank], index); }
  std::vector<float> owner(std::size_t index) const { return state(owner_, index); }
  std::vector<float> receiver(std::size_t rank, std::size_t index) const { return state(receivers_[rank], index); }

  void forget_encoders() { encoders_.assign(encoders_.size(), {}); }
  void forget_owner() { owner_.clear(); }

  /// Returns true if the codec's own check accepted all payloads.
  bool all_checked() const { return all_checked_; }

 private:
  std::vector<float> state(const KeptStates& states, std::size_t index) const;
  EncodeContext context_of(std::size_t rank, std::uint64_t use, std::uint32_t step) const;
  KeptStates fresh() const { return KeptStates(codec_.info().states * n_); }
  Residual with(const KeptStates& in, KeptStates& out) const;

  const Codec& codec_;
  Elements n_;
  Numbers numbers_;
  std::vector<KeptStates> encoders_, receivers_;
  KeptStates owner_;
  bool all_checked_ = true;
};

}  // namespace casync::compll
