// SPDX-License-Identifier: Apache-2.0
#include "casync/graph/answer_batches.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace casync {

AnswerBatches::AnswerBatches(const Asynchronous& rule, const std::vector<bool>& contributes) : rule_(rule) {
  for (const bool one : contributes) seats_.push_back({.contributes = one});
  const auto contributors = static_cast<std::size_t>(std::count(contributes.begin(), contributes.end(), true));
  is_synchronous_ = rule.bound == 0u || rule.first >= contributors;
  taken_.reserve(seats_.size());
  answered_.reserve(seats_.size());
  counts_.reserve(seats_.size());
}

void AnswerBatches::contribute(Rank rank, std::uint32_t step) {
  Seat& one = seat(rank);
  CASYNC_CHECK(!one.waits);
  one.contributed = step + 1;
  one.step = step;
  one.waits = true;
  one.arrived = one.contributes;
}

void AnswerBatches::end(Rank rank) { seat(rank).contributed = kEver; }

Rank AnswerBatches::slowest() const {
  const auto less = [](const Seat& a, const Seat& b) {
    return std::pair(!a.contributes, a.contributed) < std::pair(!b.contributes, b.contributed);
  };
  return static_cast<Rank>(std::min_element(seats_.begin(), seats_.end(), less) - seats_.begin());
}

/// The steps to which as many ranks as the rule's `first` have contributed.
std::uint32_t AnswerBatches::of_first_ranks() const {
  if (rule_.first <= 1) return kEver;
  counts_.clear();
  for (const Seat& one : seats_) {
    if (one.contributes) counts_.push_back(one.contributed);
  }
  if (rule_.first > counts_.size()) return 0;
  const auto last = counts_.begin() + static_cast<std::ptrdiff_t>(rule_.first - 1);
  std::nth_element(counts_.begin(), last, counts_.end(), std::greater<>());
  return *last;
}

/// `least`: the steps to which the slowest rank has contributed. `of_first`: of_first_ranks(), which looks at all ranks
/// once and not for each that waits.
bool AnswerBatches::is_due(const Seat& seat, std::uint32_t least, std::uint32_t of_first) const {
  if (!seat.waits) return false;
  if (!seat.contributes) return least > seat.step;
  if (rule_.bound && std::uint64_t{least} + *rule_.bound <= seat.step) return false;
  return of_first > seat.step;
}

bool AnswerBatches::begin() {
  if (under_way_) return false;
  taken_.clear();
  answered_.clear();
  const std::uint32_t least = contributed(slowest()), of_first = of_first_ranks();
  std::uint32_t latest = 0;  // step that is answered
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    if (seats_[i].leaving || !is_due(seats_[i], least, of_first)) continue;
    answered_.push_back(static_cast<Rank>(i));
    latest = std::max(latest, seats_[i].step);
  }
  if (answered_.empty()) return false;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    if (seats_[i].arrived && (!is_synchronous_ || seats_[i].step <= latest)) taken_.push_back(static_cast<Rank>(i));
  }
  std::sort(taken_.begin(), taken_.end(),
            [&](Rank a, Rank b) { return std::tie(seat(a).step, a) < std::tie(seat(b).step, b); });
  for (const Rank rank : taken_) seat(rank).arrived = false;
  for (const Rank rank : answered_) seat(rank).answered_step = seat(rank).step;
  under_way_ = true;
  return true;
}

void AnswerBatches::finish() {
  under_way_ = false;
  for (const Rank rank : answered_) {
    seat(rank).waits = false;
    seat(rank).leaving = true;
  }
}

void AnswerBatches::go_to(std::uint32_t step) {
  for (Seat& one : seats_) {
    one.waits = one.arrived = false;
    one.contributed = step;
  }
}

std::optional<AnswerBatches::Wait> AnswerBatches::wait_of(Rank rank) const {
  const Seat& one = seat(rank);
  if (!one.waits || one.leaving) return std::nullopt;
  const Rank slow = slowest();
  if (is_due(one, contributed(slow), of_first_ranks())) return std::nullopt;
  return Wait{rank, one.step, slow, contributed(slow)};
}

}  // namespace casync
