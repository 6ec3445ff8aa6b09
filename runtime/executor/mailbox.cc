// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/mailbox.h"

#include <utility>

namespace casync::runtime {

bool Mailbox::post(Call call) {
  const std::lock_guard lock(mutex_);
  if (ended_) return false;
  calls_.push_back(std::move(call));
  transport_.wake();
  return true;
}

/// Wakes the transport under the lock, like all others here: after end() it must not be touched.
void Mailbox::wake() {
  const std::lock_guard lock(mutex_);
  if (!ended_) transport_.wake();
}

void Mailbox::submit(std::span<const GradientStart> starts) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  waiters_.begin(static_cast<int>(starts.size()));
  starts_.insert(starts_.end(), starts.begin(), starts.end());
  transport_.wake();
}

void Mailbox::hold(int gradients) {
  const std::lock_guard lock(mutex_);
  if (!ended_) waiters_.begin(gradients);
}

void Mailbox::start_held(std::span<const GradientStart> starts) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  starts_.insert(starts_.end(), starts.begin(), starts.end());
  transport_.wake();
}

void Mailbox::reserve(std::size_t starts) {
  const std::lock_guard lock(mutex_);
  starts_.reserve(starts);
}

std::vector<Mailbox::Call> Mailbox::take(std::vector<GradientStart>& starts) {
  std::vector<Call> calls;
  const std::lock_guard lock(mutex_);
  starts.swap(starts_);
  calls.swap(calls_);
  return calls;
}

std::vector<Mailbox::Call> Mailbox::end() {
  std::vector<Call> calls;
  const std::lock_guard lock(mutex_);
  ended_ = true;
  calls.swap(calls_);
  return calls;
}

}  // namespace casync::runtime
