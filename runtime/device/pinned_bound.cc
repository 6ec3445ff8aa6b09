// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/pinned_bound.h"

#include <fmt/format.h>

#include <atomic>
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
  BoundDevice(std::unique_ptr<Device> device, Bytes most) : PinnedBound(std::move(device)), most_(most) {}

  Bytes pinned() const override { return given_->load(); }
  Bytes most_pinned() const override { return most_; }

  Result<std::unique_ptr<DeviceBuffer>> allocate(Bytes bytes, Memory kind) override {
    if (kind != Memory::kPinned) return WrappingDevice::allocate(bytes, kind);
    const Bytes before = given_->fetch_add(bytes);
    if (bytes > most_ || before > most_ - bytes) {
      given_->fetch_sub(bytes);
      return unavailable(
          fmt::format("{}: {} bytes of pinned memory beside {} that are taken, and this session may have {}: raise "
                      "CASYNC_PINNED_MB, or use a codec with smaller payloads, or a strategy with fewer messages "
                      "(all_gather has one from each rank)",
                      name(), bytes, before, most_));
    }
    Result<std::unique_ptr<DeviceBuffer>> memory = WrappingDevice::allocate(bytes, kind);
    if (!memory) {
      given_->fetch_sub(bytes);
      return memory;
    }
    return std::unique_ptr<DeviceBuffer>(std::make_unique<CountedBuffer>(std::move(*memory), given_));
  }

 private:
  const Bytes most_;
  const std::shared_ptr<std::atomic<Bytes>> given_ = std::make_shared<std::atomic<Bytes>>(0);
};

}  // namespace

std::unique_ptr<PinnedBound> bound_pinned(std::unique_ptr<Device> device, Bytes most) {
  return std::make_unique<BoundDevice>(std::move(device), most);
}

}  // namespace casync::runtime
