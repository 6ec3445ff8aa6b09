// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/requests.h"

#include <utility>

namespace casync::runtime {

bool Requests::post(Call call) {
  const std::lock_guard lock(mutex_);
  if (ended_) return false;
  calls_.push_back(std::move(call));
  transport_.wake();
  return true;
}

/// Wakes the transport under the lock, like all others here: after end() it must not be touched.
void Requests::wake() {
  const std::lock_guard lock(mutex_);
  if (!ended_) transport_.wake();
}

void Requests::submit(std::span<const GradientStart> starts) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  waiters_.begin(static_cast<int>(starts.size()));
  starts_.insert(starts_.end(), starts.begin(), starts.end());
  transport_.wake();
}

void Requests::hold(int gradients) {
  const std::lock_guard lock(mutex_);
  if (!ended_) waiters_.begin(gradients);
}

void Requests::start_held(std::span<const GradientStart> starts) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  starts_.insert(starts_.end(), starts.begin(), starts.end());
  transport_.wake();
}

void Requests::reserve(std::size_t starts) {
  const std::lock_guard lock(mutex_);
  starts_.reserve(starts);
}

std::vector<Requests::Call> Requests::take(std::vector<GradientStart>& starts) {
  std::vector<Call> calls;
  const std::lock_guard lock(mutex_);
  starts.swap(starts_);
  calls.swap(calls_);
  return calls;
}

std::vector<Requests::Call> Requests::end() {
  std::vector<Call> calls;
  const std::lock_guard lock(mutex_);
  ended_ = true;
  calls.swap(calls_);
  return calls;
}

}  // namespace casync::runtime
