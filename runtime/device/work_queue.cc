// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/host_device.h"

#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/thread.h"

namespace casync::runtime {
namespace {

class HostBuffer final : public DeviceBuffer {
 public:
  HostBuffer(void* memory, Bytes bytes) { view_ = {static_cast<std::byte*>(memory), bytes}; }
  ~HostBuffer() override {
    if (view_.size > 0) munmap(view_.data, view_.size);
  }
};

class HostStream final : public Stream {
 public:
  /// Once, before anything else.
  Status start(const std::string& name) {
    Result<std::thread> thread = start_thread(name, [this] { run(); });
    CASYNC_RETURN_IF_ERROR(thread.status());
    thread_ = std::move(*thread);
    clock_.emplace(thread_);
    return Status::ok();
  }

  ~HostStream() override {
    if (!thread_.joinable()) return;
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
    }
    filled_.notify_one();
    thread_.join();
  }

  bool enqueue(Work work) override {
    {
      std::lock_guard lock(mutex_);
      if (count_ == kStreamDepth) return false;
      queue_[(first_ + count_++) % kStreamDepth] = work;
    }
    filled_.notify_one();
    return true;
  }

  double processor_seconds() const override { return clock_->seconds(); }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      filled_.wait(lock, [this] { return count_ > 0 || ending_; });
      if (count_ == 0) return;
      const Work work = queue_[first_];
      first_ = (first_ + 1) % kStreamDepth;
      --count_;
      lock.unlock();
      work.run(work.context, work.argument);
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable filled_;
  std::array<Work, kStreamDepth> queue_;
  std::size_t first_ = 0, count_ = 0;
  bool ending_ = false;
  std::thread thread_;
  std::optional<ThreadClock> clock_;  ///< of thread_
};

class HostDevice final : public Device {
 public:
  std::string name() const override { return "host"; }

  Result<std::unique_ptr<Stream>> make_stream(const std::string& name) override {
    auto stream = std::make_unique<HostStream>();
    CASYNC_RETURN_IF_ERROR(stream->start(name));
    return std::unique_ptr<Stream>(std::move(stream));
  }

  Result<std::unique_ptr<DeviceBuffer>> allocate(Bytes bytes) override {
    if (bytes == 0) return std::unique_ptr<DeviceBuffer>(new HostBuffer(nullptr, 0));
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      return unavailable("no host memory: asked for " + std::to_string(bytes) + " bytes: " + std::strerror(errno));
    }
    // A first touch of 4 KiB pages one by one would cost more than the reduction that touches them.
    if (bytes >= 2_MiB) madvise(memory, bytes, MADV_HUGEPAGE);
    return std::unique_ptr<DeviceBuffer>(new HostBuffer(memory, bytes));
  }
};

}  // namespace

std::unique_ptr<Device> make_host_device() { return std::make_unique<HostDevice>(); }

}  // namespace casync::runtime
