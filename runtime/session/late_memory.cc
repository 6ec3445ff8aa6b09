// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/late_memory.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>
#include <utility>

#include "runtime/session/copy_waits.h"

namespace casync::runtime {
namespace {

void swap_bytes(std::byte* a, std::byte* b, std::size_t size) {
  std::array<std::byte, 8192> block;
  for (std::size_t at = 0; at < size; at += block.size()) {
    const std::size_t count = std::min(block.size(), size - at);
    std::memcpy(block.data(), a + at, count);
    std::memcpy(a + at, b + at, count);
    std::memcpy(b + at, block.data(), count);
  }
}

class LateOnHost final : public LateMemory {
 public:
  LateOnHost(std::size_t slots, Bytes bytes) : slots_(slots, std::vector<std::byte>(bytes)) {}

  Status take(const Submission& submission) override {
    taken_ = submission.data;
    return Status::ok();
  }
  Status exchange(std::size_t slot) override {
    swap_bytes(slots_[slot].data(), taken_.data, slots_[slot].size());
    return Status::ok();
  }
  Result<bool> is_exchanged() const override { return true; }
  Submission submission(GradientId id, std::size_t slot) override {
    return {id, {slots_[slot].data(), slots_[slot].size()}};
  }
  Status read(std::size_t slot, std::vector<std::byte>* to) const override {
    *to = slots_[slot];
    return Status::ok();
  }
  Status write(std::size_t slot, const std::vector<std::byte>& from) override {
    slots_[slot] = from;
    return Status::ok();
  }

 private:
  std::vector<std::vector<std::byte>> slots_;
  View taken_;
};

/// One slot more than results takes the gradient, and then stands for the slot that the result came from.
class LateOnDevice final : public LateMemory {
 public:
  LateOnDevice(Device& device, LateStreams& streams) : device_(device), streams_(streams) {}
  ~LateOnDevice() override {
    if (!over_ || is_over_by(after(kLongestCopy))) return;
    for (std::unique_ptr<DeviceBuffer>& each : slots_) static_cast<void>(each.release());
    static_cast<void>(spare_.release());
  }

  Status open(std::size_t slots, Bytes bytes) {
    const std::vector<std::byte> zeros(bytes);
    for (std::size_t i = 0; i <= slots; ++i) {
      Result<std::unique_ptr<DeviceBuffer>> memory = device_.allocate(bytes, Memory::kDevice);
      if (!memory) return memory.status();
      if (bytes > 0) CASYNC_RETURN_IF_ERROR(device_.write({zeros.data(), bytes}, (*memory)->device()));
      (i < slots ? slots_.emplace_back() : spare_) = std::move(*memory);
    }
    for (std::unique_ptr<Event>* each : {&written_, &over_}) {
      Result<std::unique_ptr<Event>> event = device_.make_event();
      if (!event) return event.status();
      *each = std::move(*event);
    }
    return Status::ok();
  }

  Status take(const Submission& submission) override {
    taken_ = submission.device_data;
    return device_.record(*written_, submission.stream);
  }
  Status exchange(std::size_t slot) override {
    Stream& copies = *streams_.copies;
    CASYNC_RETURN_IF_ERROR(copies.wait_for(*written_));
    CASYNC_RETURN_IF_ERROR(copies.copy(taken_, spare_->device()));
    CASYNC_RETURN_IF_ERROR(copies.copy(slots_[slot]->device(), taken_));
    std::swap(spare_, slots_[slot]);
    return copies.record(*over_);
  }
  Result<bool> is_exchanged() const override { return over_->done(); }
  Submission submission(GradientId id, std::size_t slot) override {
    return {id, {}, slots_[slot]->device(), streams_.idle->native()};
  }
  Status read(std::size_t slot, std::vector<std::byte>* to) const override {
    to->resize(spare_->device().size());
    return to->empty() ? Status::ok() : device_.read(slots_[slot]->device(), {to->data(), to->size()});
  }
  Status write(std::size_t slot, const std::vector<std::byte>& from) override {
    return from.empty() ? Status::ok() : device_.write({from.data(), from.size()}, slots_[slot]->device());
  }

 private:
  /// A device that has failed copies nothing more.
  bool is_over_by(Clock::time_point deadline) const {
    while (true) {
      const Result<bool> over = over_->done();
      if (!over || *over) return true;
      if (Clock::now() >= deadline) return false;
      std::this_thread::sleep_for(kCopyPause);
    }
  }

  Device& device_;
  LateStreams& streams_;
  std::vector<std::unique_ptr<DeviceBuffer>> slots_;
  std::unique_ptr<DeviceBuffer> spare_;
  std::unique_ptr<Event> written_, over_;  ///< by the program; the last exchange
  DeviceView taken_;
};

}  // namespace

Result<std::unique_ptr<LateMemory>> make_late_memory(Device& device, LateStreams& streams, std::size_t slots,
                                                     Bytes bytes) {
  if (device.is_host()) return std::unique_ptr<LateMemory>(std::make_unique<LateOnHost>(slots, bytes));
  auto memory = std::make_unique<LateOnDevice>(device, streams);
  CASYNC_RETURN_IF_ERROR(memory->open(slots, bytes));
  return std::unique_ptr<LateMemory>(std::move(memory));
}

}  // namespace casync::runtime
