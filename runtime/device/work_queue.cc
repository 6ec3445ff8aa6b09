// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/work_queue.h"

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/thread.h"

namespace casync::runtime {
namespace {

class ThreadQueue final : public WorkQueue {
 public:
  /// Starts the thread. Call it once, ahead of every other function.
  Status start(const std::string& name) {
    Result<std::thread> thread = start_thread(name, [this] { run(); });
    CASYNC_RETURN_IF_ERROR(thread.status());
    thread_ = std::move(*thread);
    clock_.emplace(thread_);
    return Status::ok();
  }

  ~ThreadQueue() override {
    if (!thread_.joinable()) return;
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
    }
    filled_.notify_one();
    thread_.join();  // its work has ended: Executor::stop() keeps a queue whose work has not
  }

  bool enqueue(Work work) override {
    {
      std::lock_guard lock(mutex_);
      if (count_ == kQueueDepth) return false;
      queue_[(first_ + count_++) % kQueueDepth] = work;
    }
    filled_.notify_one();
    return true;
  }

  double processor_seconds() const override { return clock_->seconds(); }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      // No deadline: nobody waits for an idle queue.
      filled_.wait(lock, [this] { return count_ > 0 || ending_; });
      if (count_ == 0) return;
      const Work work = queue_[first_];
      first_ = (first_ + 1) % kQueueDepth;
      --count_;
      lock.unlock();
      work.run(work.context, work.argument);
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable filled_;
  std::array<Work, kQueueDepth> queue_;
  std::size_t first_ = 0, count_ = 0;
  bool ending_ = false;
  std::thread thread_;
  std::optional<ThreadClock> clock_;  ///< of thread_
};

}  // namespace

Result<std::unique_ptr<WorkQueue>> make_work_queue(const std::string& name) {
  auto queue = std::make_unique<ThreadQueue>();
  CASYNC_RETURN_IF_ERROR(queue->start(name));
  return std::unique_ptr<WorkQueue>(std::move(queue));
}

}  // namespace casync::runtime
