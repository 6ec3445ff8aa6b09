// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/pinned_bound.h"

#include <fmt/format.h>

#include <atomic>
#include <string>
#include <utility>

namespace casync::runtime {
namespace {

/// Pinned memory that counts as given out while it lives.
class CountedBuffer final : public DeviceBuffer {
 public:
  CountedBuffer(std::unique_ptr<DeviceBuffer> memory, std::shared_ptr<std::atomic<Bytes>> given)
      : memory_(std::move(memory)), given_(std::move(given)) {
    device_ = memory_->device();
    host_ = memory_->view();
  }
  ~CountedBuffer() override { given_->fetch_sub(device_.size()); }

 private:
  const std::unique_ptr<DeviceBuffer> memory_;
  const std::shared_ptr<std::atomic<Bytes>> given_;  ///< memory may outlive the device
};

class BoundDevice final : public PinnedBound {
 public:
  BoundDevice(std::unique_ptr<Device> device, Bytes most) : device_(std::move(device)), most_(most) {}

  Bytes pinned() const override { return given_->load(); }
  Bytes most_pinned() const override { return most_; }
  std::string name() const override { return device_->name(); }
  bool is_host() const override { return device_->is_host(); }

  Result<std::unique_ptr<DeviceBuffer>> allocate(Bytes bytes, Memory kind) override {
    if (kind != Memory::kPinned) return device_->allocate(bytes, kind);
    const Bytes before = given_->fetch_add(bytes);
    if (bytes > most_ || before > most_ - bytes) {
      given_->fetch_sub(bytes);
      return unavailable(fmt::format(
          "{}: {} bytes of pinned memory beside {} that are taken, and this session may have {}: raise "
          "CASYNC_PINNED_MB, "
          "or use a codec with smaller payloads, or a strategy with fewer messages (all_gather has one from each rank)",
          device_->name(), bytes, before, most_));
    }
    Result<std::unique_ptr<DeviceBuffer>> memory = device_->allocate(bytes, kind);
    if (!memory) {
      given_->fetch_sub(bytes);
      return memory;
    }
    return std::unique_ptr<DeviceBuffer>(std::make_unique<CountedBuffer>(std::move(*memory), given_));
  }
  Status check(DeviceView memory) const override { return device_->check(memory); }

  Result<std::unique_ptr<Stream>> make_stream(bool urgent) override { return device_->make_stream(urgent); }
  Result<std::unique_ptr<Event>> make_event() override { return device_->make_event(); }
  Result<std::unique_ptr<Event>> make_timed_event() override { return device_->make_timed_event(); }
  Result<double> seconds_between(const Event& begin, const Event& end) const override {
    return device_->seconds_between(begin, end);
  }
  Status record(Event& event, void* stream) override { return device_->record(event, stream); }

  Status read(DeviceView from, View to) override { return device_->read(from, to); }
  Status write(ConstView from, DeviceView to) override { return device_->write(from, to); }

  Result<std::unique_ptr<CodecKernels>> kernels(const std::string& codec, const compll::Codec& meaning) override {
    return device_->kernels(codec, meaning);
  }
  Result<std::unique_ptr<TurnKernels>> turn_kernels(const std::string& codec,
                                                    const compll::RoundsCodec& meaning) override {
    return device_->turn_kernels(codec, meaning);
  }

 private:
  const std::unique_ptr<Device> device_;
  const Bytes most_;
  const std::shared_ptr<std::atomic<Bytes>> given_ = std::make_shared<std::atomic<Bytes>>(0);
};

}  // namespace

std::unique_ptr<PinnedBound> bound_pinned(std::unique_ptr<Device> device, Bytes most) {
  return std::make_unique<BoundDevice>(std::move(device), most);
}

}  // namespace casync::runtime
