// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/late_reductions.h"

#include <exception>
#include <string>
#include <utility>

#include "base/thread.h"

namespace casync::runtime {

Status LateReductions::start() {
  if (thread_) return Status::ok();
  Result<std::thread> thread = start_thread("casync-late", [this] { reduce_all(); });
  if (!thread) return thread.status();
  thread_ = std::make_unique<std::thread>(std::move(*thread));
  return Status::ok();
}

Status LateReductions::settle(std::unique_lock<std::mutex>& lock) const {
  // The thread ends it: the wrapped session's time limit ends each of that thread's waits.
  lock_.changed->wait(lock, [&] { return steps_.are_all_reduced() || failure_.is_noted(); });
  return steps_.are_all_reduced() ? Status::ok() : failure_.tell_noted();
}

void LateReductions::close() {
  closing_ = true;
  lock_.changed->notify_all();
}

void LateReductions::join() {
  if (thread_) thread_->join();
}

void LateReductions::reduce_all() {
  std::unique_lock lock(lock_.mutex);
  while (!failure_.is_noted()) {
    // For the program's next step: nobody waits for this thread meanwhile.
    lock_.changed->wait(lock, [&] { return !steps_.are_all_begun() || closing_; });
    if (steps_.are_all_begun()) return;
    try {
      failure_.note(reduce_next(lock));
    } catch (const std::exception& error) {
      Status failure = unavailable(std::string("a late reduction could not begin: ") + error.what());
      session_.abort(failure.message());
      if (!lock.owns_lock()) lock.lock();
      failure_.note(std::move(failure));
    }
    lock_.changed->notify_all();
  }
}

/// `lock` is held at the call and at its return, but not while the reductions go on.
Status LateReductions::reduce_next(std::unique_lock<std::mutex>& lock) {
  const std::uint32_t step = steps_.begun();
  gradients_.gather(step, &starts_);
  started_.resize(starts_.size());
  lock.unlock();
  const Status begun = session_.submit(starts_, started_);
  lock.lock();
  CASYNC_RETURN_IF_ERROR(begun);
  for (std::size_t i = 0; i < starts_.size(); ++i) {
    gradients_.at(starts_[i].gradient).begin_reducing(step, started_[i]);
  }
  steps_.begin();
  lock_.changed->notify_all();
  lock.unlock();
  Result<StepResult> result = session_.step();
  lock.lock();
  CASYNC_RETURN_IF_ERROR(result.status());
  steps_.reduce(std::move(*result));
  return Status::ok();
}

}  // namespace casync::runtime
