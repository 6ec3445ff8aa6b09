// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/member_submissions.h"

#include <algorithm>
#include <utility>

#include "runtime/session/declarations.h"

namespace casync::runtime {

Status MemberSubmissions::check(std::size_t place, const GradientSpec& gradient, std::uint32_t step,
                                std::uint64_t call) {
  if (is_in(place, step)) return submitted_twice(gradient, step);
  if (std::exchange(places_[place].call, call) != call) return Status::ok();
  return invalid_argument("gradient " + gradient.name + " is twice in one submission");
}

std::size_t MemberSubmissions::join(std::uint32_t step, std::uint64_t call) {
  if (std::exchange(call_, call) != call) joining_ = 0;
  return count_in(step) + ++joining_;
}

void MemberSubmissions::add(std::size_t place, std::uint32_t step) {
  places_[place].steps = step + 1;
  submitted_ = count_in(step) + 1;
  steps_ = step + 1;
}

void MemberSubmissions::remove(std::size_t place, std::uint32_t step) {
  if (!is_in(place, step)) return;
  submitted_ = count_in(step) - 1;
  places_[place].steps = step;
}

void MemberSubmissions::forget() {
  steps_ = 0;
  submitted_ = 0;
  call_ = 0;
  std::fill(places_.begin(), places_.end(), Place{});
}

}  // namespace casync::runtime
