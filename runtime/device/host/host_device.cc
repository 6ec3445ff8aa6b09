// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/host/host_device.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/device/host/host_kernels.h"
#include "runtime/device/host/host_view.h"

namespace casync::runtime {
namespace {

class HostBuffer final : public DeviceBuffer {
 public:
  HostBuffer(void* memory, Bytes bytes) {
    host_ = {static_cast<std::byte*>(memory), bytes};
    device_ = DeviceView::of(memory, bytes);
  }
  ~HostBuffer() override {
    if (host_.size > 0) munmap(host_.data, host_.size);
  }
};

/// Does at once what is queued, so that its events have nothing before them.
class HostStream final : public Stream {
 public:
  void* native() const override { return nullptr; }
  Status upload(ConstView from, DeviceView to) override { return move(from, host_view(to)); }
  Status download(DeviceView from, View to) override { return move(host_view(from), to); }
  Status copy(DeviceView from, DeviceView to) override { return move(host_view(from), host_view(to)); }
  Status fill(DeviceView at, std::byte value) override {
    if (at.size() != 0) std::memset(host_view(at).data, static_cast<int>(value), at.size());
    return Status::ok();
  }
  Status wait_for(const Event&) override { return Status::ok(); }
  Status record(Event&) override { return Status::ok(); }
  Status call(void (*ring)(void*), void* bell) override {
    ring(bell);
    return Status::ok();
  }

 private:
  static Status move(ConstView from, View to) {
    CASYNC_CHECK(from.size == to.size);
    if (from.size != 0) std::memcpy(to.data, from.data, from.size);
    return Status::ok();
  }
};

class HostEvent final : public Event {
 public:
  Result<bool> done() const override { return true; }
};

class HostDevice final : public Device {
 public:
  std::string name() const override { return "cpu"; }
  bool is_host() const override { return true; }

  /// Taken from the system only where it is touched.
  Result<std::unique_ptr<DeviceBuffer>> allocate(Bytes bytes, Memory) override {
    if (bytes == 0) return std::unique_ptr<DeviceBuffer>(new HostBuffer(nullptr, 0));
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      return unavailable("no host memory: asked for " + std::to_string(bytes) + " bytes: " + std::strerror(errno));
    }
    // A first touch of 4 KiB pages one by one would cost more than the reduction that touches them.
    if (bytes >= 2_MiB) madvise(memory, bytes, MADV_HUGEPAGE);
    return std::unique_ptr<DeviceBuffer>(new HostBuffer(memory, bytes));
  }
  Status check(DeviceView) const override { return Status::ok(); }

  Result<std::unique_ptr<Stream>> make_stream(bool) override { return std::unique_ptr<Stream>(new HostStream); }
  Result<std::unique_ptr<Event>> make_event() override { return std::unique_ptr<Event>(new HostEvent); }
  Status record(Event&, void* stream) override {
    return stream == nullptr ? Status::ok() : invalid_argument("memory of the CPU has no streams");
  }

  Status read(DeviceView from, View to) override { return HostStream().download(from, to); }
  Status write(ConstView from, DeviceView to) override { return HostStream().upload(from, to); }

  Result<std::unique_ptr<CodecKernels>> kernels(const std::string&, const compll::Codec& meaning) override {
    return make_host_kernels(meaning);
  }
  Result<std::unique_ptr<TurnKernels>> turn_kernels(const std::string&, const compll::RoundsCodec& meaning) override {
    return make_host_turns(meaning);
  }
};

}  // namespace

std::unique_ptr<Device> make_host_device() { return std::make_unique<HostDevice>(); }

}  // namespace casync::runtime
