// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "casync/simulator/outline.h"

namespace casync {
class OneRank;
}

namespace casync::one_rank {

/// The stages of gradients, lump by lump. An item is a stage of a lump, or of a round.
class Stages {
 public:
  explicit Stages(OneRank& rank) : rank_(rank) {}

  void reset(std::span<const Outline* const> outlines, std::span<const int> priorities);
  /// A gradient enters its first stage.
  void begin(std::uint32_t gradient);
  /// An item is over: its lump goes on to the next stage, or the gradient may be over.
  void over(std::uint32_t item);

  const Stage& stage_of(std::uint32_t item) const { return outline_of(item).stages[items_[item].stage]; }
  const Outline& outline_of(std::uint32_t item) const { return *outlines_[items_[item].gradient]; }
  std::size_t size() const { return items_.size(); }
  /// Items so far, and 1.
  std::uint64_t arrivals() const { return items_.size() + 1; }

 private:
  struct Item {
    std::uint32_t gradient = 0;
    std::uint16_t stage = 0, round = 0;
  };

  void enter(std::uint32_t gradient, std::size_t at, std::uint16_t round);

  OneRank& rank_;
  std::span<const Outline* const> outlines_;
  std::span<const int> priorities_;
  std::vector<Item> items_;
  std::vector<std::uint32_t> gathered_, gathered_from_;  // lumps that a stage has gathered, by place; first places
  std::vector<std::uint32_t> left_;                      // items of the gradient's last stage, and asides
};

}  // namespace casync::one_rank
