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
  for (std::vector<Rank>* const ranks : {&arrived_, &due_, &late_, &taken_, &answered_}) ranks->reserve(seats_.size());
  counts_.reserve(seats_.size());
  count();
}

void AnswerBatches::contribute(Rank rank, std::uint32_t step) {
  Seat& one = seat(rank);
  CASYNC_CHECK(!one.waits);
  one.step = step;
  one.waits = true;
  if (one.contributes) arrived_.push_back(rank);
  go_on(one, step + 1);
  enter(rank);
}

void AnswerBatches::end(Rank rank) { go_on(seat(rank), kEver); }

void AnswerBatches::left(Rank rank) {
  if (std::exchange(seat(rank).leaving, false)) enter(rank);
}

Rank AnswerBatches::slowest() const {
  const auto less = [](const Seat& a, const Seat& b) {
    return std::pair(!a.contributes, a.contributed) < std::pair(!b.contributes, b.contributed);
  };
  return static_cast<Rank>(std::min_element(seats_.begin(), seats_.end(), less) - seats_.begin());
}

/// Looks at all ranks for the steps to which all, and the first ones, have contributed.
void AnswerBatches::count() {
  looks_ += seats_.size();
  counts_.clear();
  for (const Seat& one : seats_) {
    if (one.contributes) counts_.push_back(one.contributed);
  }
  least_ = *std::min_element(counts_.begin(), counts_.end());
  at_least_ = static_cast<std::size_t>(std::count(counts_.begin(), counts_.end(), least_));
  of_first_ = kEver;
  if (rule_.first > counts_.size()) {
    of_first_ = 0;
  } else if (rule_.first > 1) {
    const auto last = counts_.begin() + static_cast<std::ptrdiff_t>(rule_.first - 1);
    std::nth_element(counts_.begin(), last, counts_.end(), std::greater<>());
    of_first_ = *last;
  }
  const auto is_beyond = [&](std::uint32_t contributed) { return contributed > of_first_; };
  beyond_first_ = static_cast<std::size_t>(std::count_if(counts_.begin(), counts_.end(), is_beyond));
}

/// The rank of `one` has contributed to the steps below `contributed`: answers to others may be due now.
void AnswerBatches::go_on(Seat& one, std::uint32_t contributed) {
  const std::uint32_t before = std::exchange(one.contributed, contributed);
  if (!one.contributes || before == contributed) return;
  if (before == least_) --at_least_;
  if (before <= of_first_ && contributed > of_first_) ++beyond_first_;
  if (at_least_ > 0 && beyond_first_ < rule_.first) return;
  count();
  looks_ += late_.size();
  const auto is_late = [&](Rank rank) { return !is_due(seat(rank)); };
  const auto first_due = std::partition(late_.begin(), late_.end(), is_late);
  due_.insert(due_.end(), first_due, late_.end());
  late_.erase(first_due, late_.end());
}

bool AnswerBatches::is_due(const Seat& one) const {
  if (!one.waits) return false;
  if (!one.contributes) return least_ > one.step;
  if (rule_.bound && std::uint64_t{least_} + *rule_.bound <= one.step) return false;
  return of_first_ > one.step;
}

/// Enters a rank among those whose answers are due, or late, if it waits and its last answer has left.
void AnswerBatches::enter(Rank rank) {
  const Seat& one = seat(rank);
  if (one.waits && !one.leaving) (is_due(one) ? due_ : late_).push_back(rank);
}

/// Takes what has come. `latest`: the last step that is answered.
void AnswerBatches::take_up_to(std::uint32_t latest) {
  looks_ += arrived_.size();
  const auto is_taken = [&](Rank rank) { return !is_synchronous_ || seat(rank).step <= latest; };
  const auto rest = std::partition(arrived_.begin(), arrived_.end(), is_taken);
  taken_.assign(arrived_.begin(), rest);
  arrived_.erase(arrived_.begin(), rest);
  std::sort(taken_.begin(), taken_.end(),
            [&](Rank a, Rank b) { return std::tie(seat(a).step, a) < std::tie(seat(b).step, b); });
}

bool AnswerBatches::begin() {
  if (under_way_) return false;
  taken_.clear();
  answered_.clear();
  if (due_.empty()) return false;
  answered_.swap(due_);
  std::sort(answered_.begin(), answered_.end());
  looks_ += answered_.size();
  std::uint32_t latest = 0;
  for (const Rank rank : answered_) {
    seat(rank).answered_step = seat(rank).step;
    latest = std::max(latest, seat(rank).step);
  }
  take_up_to(latest);
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
    one.waits = false;
    one.contributed = step;
  }
  for (std::vector<Rank>* const ranks : {&arrived_, &due_, &late_}) ranks->clear();
  count();
}

std::optional<AnswerBatches::Wait> AnswerBatches::wait_of(Rank rank) const {
  const Seat& one = seat(rank);
  if (!one.waits || one.leaving || is_due(one)) return std::nullopt;
  const Rank slow = slowest();
  return Wait{rank, one.step, slow, contributed(slow)};
}

}  // namespace casync
