// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/host/host_device.h"

#include <sys/mman.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>

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

class HostEvent final : public Event {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  explicit HostEvent(bool is_timed) : is_timed_(is_timed) {}
  Result<bool> done() const override { return true; }
  Status reached() {
    if (is_timed_) at_ = std::chrono::steady_clock::now();
    return Status::ok();
  }
  /// Nothing: it keeps no time, or was never recorded.
  const std::optional<Moment>& at() const { return at_; }

 private:
  const bool is_timed_;
  std::optional<Moment> at_;
};

/// Does at once what is queued, so that its events have nothing to wait for.
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
  Status record(Event& event) override { return static_cast<HostEvent&>(event).reached(); }
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
  Result<std::unique_ptr<Event>> make_event() override { return std::unique_ptr<Event>(new HostEvent(false)); }
  Result<std::unique_ptr<Event>> make_timed_event() override { return std::unique_ptr<Event>(new HostEvent(true)); }
  Result<double> seconds_between(const Event& begin, const Event& end) const override {
    const auto& first = static_cast<const HostEvent&>(begin).at();
    const auto& last = static_cast<const HostEvent&>(end).at();
    if (!first || !last) return unavailable("an event without a time, or one that was never recorded");
    return std::chrono::duration<double>(*last - *first).count();
  }
  Status record(Event& event, void* stream) override {
    if (stream != nullptr) return invalid_argument("memory of the CPU has no streams");
    return static_cast<HostEvent&>(event).reached();
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
