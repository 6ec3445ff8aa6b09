// SPDX-License-Identifier: Apache-2.0
//
// Steps of a codec of rounds with guards around the memory it writes: each rank takes its turn, and the exchanged
// values are joined.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "compll/codec/rounds_codec.h"
#include "tools/casync/codec_figures/trial.h"

namespace casync::tools {

/// Ranks that synchronize one matrix.
class RoundsGroup {
 public:
  RoundsGroup(const compll::RoundsCodec& codec, std::size_t ranks, Elements rows, Elements columns)
      : codec_(codec), rows_(rows), columns_(columns), shape_(codec.shape(rows, columns)) {
    for (std::size_t i = 0; i < ranks; ++i) ranks_.emplace_back(shape_, rows * columns);
  }

  /// The mean over the ranks. Commits each rank's states if its result is finite.
  void step(const std::vector<std::vector<float>>& gradients, std::uint32_t number, bool anew = false) {
    for (std::uint32_t turn = 0; turn <= codec_.info().rounds; ++turn) {
      for (std::size_t i = 0; i < ranks_.size(); ++i) take_turn(ranks_[i], gradients[i], turn, number, anew);
      if (turn < codec_.info().rounds) join(turn);
    }
    for (Rank& rank : ranks_) {
      rank.before = rank.states;
      if (rank.is_finite()) rank.states = rank.after.taken();
    }
  }

  std::vector<float> result(std::size_t rank) const { return ranks_[rank].out.taken(); }
  std::vector<float> exchanged(std::size_t round) const { return ranks_.front().exchanged[round].taken(); }
  /// A rank's states, now and earlier than the last step.
  const std::vector<float>& states(std::size_t rank) const { return ranks_[rank].states; }
  const std::vector<float>& states_before(std::size_t rank) const { return ranks_[rank].before; }
  bool stayed_inside() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.stayed_inside(); });
  }

 private:
  struct Rank {
    Rank(const compll::RoundsShape& shape, Elements n)
        : states(shape.states), after(shape.states), scratch(shape.scratch), out(n) {
      for (const Elements size : shape.exchanged) exchanged.emplace_back(size);
    }
    bool is_finite() const {
      const std::span<const float> all = out.span();
      return std::all_of(all.begin(), all.end(), [](float value) { return std::isfinite(value); });
    }
    bool stayed_inside() const {
      return after.whole() && scratch.whole() && out.whole() &&
             std::all_of(exchanged.begin(), exchanged.end(), [](const auto& each) { return each.whole(); });
    }

    std::vector<float> states, before;
    Guarded<float> after, scratch, out;
    std::vector<Guarded<float>> exchanged;
  };

  void take_turn(Rank& rank, const std::vector<float>& gradient, std::uint32_t number, std::uint32_t step, bool anew) {
    std::vector<float*> exchanged;
    for (Guarded<float>& each : rank.exchanged) exchanged.push_back(each.data());
    compll::Turn turn;
    turn.number = number;
    turn.rows = rows_;
    turn.columns = columns_;
    turn.gradient = gradient.data();
    turn.exchanged = exchanged;
    turn.states_in = anew ? nullptr : rank.states.data();
    turn.states_out = rank.after.data();
    turn.scratch = rank.scratch.data();
    turn.out = number == codec_.info().rounds ? rank.out.data() : nullptr;
    codec_.turn(turn, {7, 11, step, 0});
  }

  /// The element that an exchange takes from a rank.
  static float given(compll::ExchangeKind kind, float x) {
    if (kind != compll::ExchangeKind::kElias) return x;
    return std::isnan(x) ? 0 : std::clamp(std::nearbyint(x), -0x1p31f, 0x1p31f);
  }

  static float joined(compll::ExchangeKind kind, float a, float b) {
    if (kind != compll::ExchangeKind::kMax) return a + b;
    return b > a || std::isnan(b) ? b : a;
  }

  void join(std::uint32_t round) {
    const compll::ExchangeKind kind = codec_.info().exchanges[round];
    const float scale = kind == compll::ExchangeKind::kMax ? 1 : 1.0f / static_cast<float>(ranks_.size());
    std::vector<float> all = ranks_.front().exchanged[round].taken();
    for (std::size_t e = 0; e < all.size(); ++e) {
      all[e] = given(kind, all[e]);
      for (std::size_t i = 1; i < ranks_.size(); ++i) {
        all[e] = joined(kind, all[e], given(kind, ranks_[i].exchanged[round].data()[e]));
      }
      all[e] *= scale;
    }
    for (Rank& rank : ranks_) std::copy(all.begin(), all.end(), rank.exchanged[round].data());
  }

  const compll::RoundsCodec& codec_;
  Elements rows_, columns_;
  compll::RoundsShape shape_;
  std::vector<Rank> ranks_;
};

}  // namespace casync::tools
