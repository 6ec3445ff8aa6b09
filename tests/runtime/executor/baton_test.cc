// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/baton.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// An executor in small: work is posted by any thread, and done by whoever has the baton.
class Toy {
 public:
  explicit Toy(int pieces) : pieces_(pieces), thread_([this] { progress_loop(); }) {}
  ~Toy() {
    ending_ = true;
    ring();
    thread_.join();
  }

  bool is_done() const { return done_.load() == pieces_; }
  int left() const { return left_.load(); }

  void submit() {
    {
      std::lock_guard lock(mutex_);
      ++posted_;
      left_.fetch_add(1);
    }
    if (!baton_.submitted_by_waiter() || !baton_.is_free()) ring();
  }

  /// Waits as a caller does: until nothing is left, or for so many looks.
  void wait() {
    baton_.want();
    bool taken = false;
    for (int i = 0; i < 100 && left() > 0 && !taken; ++i) {
      taken = baton_.try_take();
      std::this_thread::yield();
    }
    baton_.stop_wanting();
    if (!taken) return;
    while (left() > 0) round();
    taken_ = true;
    baton_.give_back();
  }

  bool was_taken() const { return taken_; }

 private:
  void round() {
    int taken = 0;
    {
      std::lock_guard lock(mutex_);
      std::swap(taken, posted_);
    }
    owned_ += taken;  // without a lock: the baton is one
    done_.store(owned_);
    left_.fetch_sub(taken);
  }

  void progress_loop() {
    while (!ending_) {
      round();
      {
        std::unique_lock lock(mutex_);
        rung_.wait_for(lock, std::chrono::seconds(60), [&] { return bell_ || posted_ > 0 || ending_; });
        bell_ = false;
      }
      if (baton_.is_wanted()) baton_.lend();
    }
  }

  void ring() {
    if (baton_.is_free()) return baton_.call_thread();
    {
      std::lock_guard lock(mutex_);
      bell_ = true;
    }
    rung_.notify_all();
  }

  const int pieces_;
  std::atomic<int> left_{0}, done_{0};
  std::atomic<bool> ending_{false}, taken_{false};
  int owned_ = 0;
  std::mutex mutex_;
  std::condition_variable rung_;
  int posted_ = 0;
  bool bell_ = false;
  Baton baton_{[this] { return left_.load() > 0 || ending_.load(); }};
  std::thread thread_;
};

constexpr int kPieces = 3000;

void wait_until_done(const Toy& toy) {
  while (!toy.is_done()) std::this_thread::yield();
}

}  // namespace

TEST_CASE("baton: a caller takes it, and everything gets done") {
  Toy toy(kPieces);
  for (int i = 0; i < kPieces; ++i) {
    toy.submit();
    toy.wait();
    while (toy.left() > 0) std::this_thread::yield();
  }
  CHECK(toy.is_done());
  CHECK(toy.was_taken());
}

TEST_CASE("baton: callers that meet, leave early or do not come lose no work") {
  constexpr int kCallers = 4;
  Toy toy(kCallers * kPieces);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      for (int i = 0; i < kPieces; ++i) {
        toy.submit();
        if ((i / 100 + caller) % 3 != 0) toy.wait();
        if (i % 16 == 0) {
          while (toy.left() > 0) std::this_thread::yield();
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  wait_until_done(toy);
  CHECK(toy.is_done());
}

TEST_CASE("baton: the progress thread takes it when an expected caller does not come") {
  std::atomic<bool> has_work = false;
  Baton baton([&] { return has_work.load(); });
  baton.want();
  std::thread thread([&] { baton.lend(); });
  bool expected = false;
  while (!expected) {  // until it has come at once often enough
    expected = baton.submitted_by_waiter();
    if (!expected && baton.try_take()) baton.give_back();
    if (!expected && !baton.is_free()) {  // the thread went on: nobody had come for a while
      thread.join();
      thread = std::thread([&] { baton.lend(); });
    }
  }
  has_work = true;
  thread.join();
  CHECK_FALSE(baton.is_free());
  CHECK_FALSE(baton.submitted_by_waiter());  // nobody came for the last one
  baton.stop_wanting();
}

TEST_CASE("baton: a call ends the progress thread's sleep, however long a caller has had it") {
  std::atomic<bool> has_work = false;
  Baton baton([&] { return has_work.load(); });
  baton.want();
  std::atomic<bool> is_taken = false;
  std::thread thread([&] {
    do {
      baton.lend();
    } while (!is_taken);
  });
  while (!baton.try_take()) std::this_thread::yield();
  is_taken = true;
  std::this_thread::sleep_for(5 * Baton::kLinger);  // it sleeps long now
  baton.call_thread();
  has_work = true;
  baton.give_back();
  thread.join();
  CHECK_FALSE(baton.is_free());
  baton.stop_wanting();
}

TEST_CASE("baton: it is not lent to a caller that is gone, while there is work") {
  Baton baton([] { return true; });
  baton.want();
  baton.stop_wanting();
  baton.lend();  // returns
  CHECK_FALSE(baton.is_free());
}
