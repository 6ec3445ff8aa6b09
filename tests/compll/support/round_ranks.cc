// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/support/round_ranks.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tests/compll/support/run_codec.h"

namespace casync::compll {

RoundRanks::RoundRanks(const RoundsCodec& codec, std::size_t count, Elements rows, Elements columns)
    : codec_(codec), rows_(rows), columns_(columns), ranks_(count) {
  const RoundsShape shape = codec.shape(rows, columns);
  for (Rank& rank : ranks_) {
    rank.states.resize(shape.states);
    rank.scratch.resize(shape.scratch);
    for (const Elements size : shape.exchanged) rank.exchanged.emplace_back(size);
  }
}

std::vector<std::vector<float>> RoundRanks::step(const std::vector<std::vector<float>>& gradients, std::uint32_t number,
                                                 float scale) {
  const std::uint32_t rounds = codec_.info().rounds;
  for (Rank& rank : ranks_) {
    rank.after.assign(rank.states.size(), -1);
    rank.out.assign(rows_ * columns_, -1);
  }
  for (std::uint32_t turn = 0; turn <= rounds; ++turn) {
    take_turns(turn, gradients, number);
    if (turn < rounds) join(turn, scale);
  }
  std::vector<std::vector<float>> results;
  for (Rank& rank : ranks_) {
    rank.states.swap(rank.after);
    results.push_back(rank.out);
  }
  return results;
}

std::vector<float> RoundRanks::mean(const std::vector<std::vector<float>>& gradients, std::uint32_t number) {
  const auto results = step(gradients, number, 1.0f / static_cast<float>(ranks_.size()));
  for (const std::vector<float>& result : results) {
    if (!same_bytes(result, results.front())) throw std::runtime_error("two ranks have different results");
  }
  return results.front();
}

void RoundRanks::take_turns(std::uint32_t number, const std::vector<std::vector<float>>& gradients,
                            std::uint32_t step) {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    std::vector<float*> exchanged;
    for (std::vector<float>& each : rank.exchanged) exchanged.push_back(each.data());
    Turn turn;
    turn.number = number;
    turn.rows = rows_;
    turn.columns = columns_;
    turn.gradient = gradients[i].data();
    turn.exchanged = exchanged;
    turn.states_in = rank.states.data();
    turn.states_out = rank.after.data();
    turn.scratch = rank.scratch.data();
    turn.out = number == codec_.info().rounds ? rank.out.data() : nullptr;
    codec_.turn(turn, {7, 11, step, 0});
  }
}

void RoundRanks::join(std::uint32_t round, float scale) {
  const bool greatest = codec_.info().exchanges[round] == ExchangeKind::kMax;
  const bool whole = codec_.info().exchanges[round] == ExchangeKind::kElias;
  for (Rank& rank : ranks_) {
    for (float& each : rank.exchanged[round]) {
      if (whole) each = std::isnan(each) ? 0 : std::clamp(std::nearbyint(each), -0x1p31f, 0x1p31f);
    }
  }
  std::vector<float> all = ranks_.front().exchanged[round];
  for (std::size_t i = 1; i < ranks_.size(); ++i) {
    for (std::size_t e = 0; e < all.size(); ++e) {
      const float other = ranks_[i].exchanged[round][e];
      if (!greatest) all[e] += other;
      if (greatest && !(all[e] >= other) && !std::isnan(all[e])) all[e] = other;
    }
  }
  for (float& each : all) each *= greatest ? 1 : scale;
  for (Rank& rank : ranks_) rank.exchanged[round] = all;
}

}  // namespace casync::compll
