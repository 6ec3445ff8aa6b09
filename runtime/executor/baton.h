// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "runtime/control/deadline.h"

namespace casync::runtime {

/// The right to move an executor on: to use everything that belongs to its progress thread. One thread at a time has
/// it. The progress thread has it at first, and lends it to callers that wait for a result: a caller that moves the
/// result on by itself wakes nobody up, and nobody has to wake it.
///
/// A caller gives it back to nobody. The progress thread sleeps then for kLinger, as the caller may be back at once,
/// and a caller that goes from one result to the next costs it no wake-up. Work that comes meanwhile calls it: see
/// is_free().
///
/// No wake-up is lost: whoever makes work looks at is_free() after making it, and the baton looks at `has_work` after
/// becoming free, both in the one order of sequentially consistent operations.
class Baton {
 public:
  /// `has_work`: there is something that cannot wait until a caller comes. Any thread, without waiting.
  explicit Baton(std::function<bool()> has_work) : has_work_(std::move(has_work)) {}
  Baton(const Baton&) = delete;
  Baton& operator=(const Baton&) = delete;

  // The progress thread, which has it.

  bool is_wanted() const { return wanted_.load() > 0; }
  /// Lends it to callers. Returns when the progress thread has it again.
  void lend();

  // Callers.

  /// Asks the progress thread to lend it, until stop_wanting(). Returns true if that has it, and may have to be woken
  /// up.
  bool want() {
    wanted_.fetch_add(1);
    return holder_.load() == Holder::kThread;
  }
  void stop_wanting();
  /// Takes it if it is free.
  bool try_take();
  void give_back();

  // Any thread that makes work.

  /// Returns true if nobody has it, so that work waits until call_thread() or a caller. Otherwise whoever has it must
  /// be woken up.
  bool is_free() const { return holder_.load() == Holder::kNobody; }
  /// Lets the progress thread take it as soon as no caller has it.
  void call_thread();
  /// Notes a submission. Returns true if its caller is expected to take the baton at once: it did so after each of its
  /// last submissions. If it does not come after all, the progress thread does, within kLinger.
  bool submitted_by_waiter();

  static constexpr std::chrono::microseconds kLinger{200};

 private:
  enum class Holder : std::uint8_t { kThread, kCaller, kNobody };

  /// Callers that take it so soon after their submission, so many times in a row, are expected the next time.
  static constexpr std::chrono::microseconds kAtOnce{20};
  static constexpr int kExpected = 4;

  void note_taker();

  const std::function<bool()> has_work_;
  std::atomic<Holder> holder_{Holder::kThread};  ///< written under mutex_
  std::atomic<int> wanted_{0};

  // Marks of submissions and takers for each other.
  std::atomic<bool> awaits_taker_{false};    ///< a submission, until somebody takes the baton
  std::atomic<Clock::rep> submitted_at_{0};  ///< when that was
  std::atomic<int> came_at_once_{0};         ///< times in a row

  std::mutex mutex_;
  std::condition_variable called_thread_;
  bool called_ = false;
  bool sleeps_long_ = false;  ///< the progress thread, while one caller keeps the baton
  std::uint64_t taken_ = 0;   ///< by callers, times
};

}  // namespace casync::runtime
