// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_device.h"

#include <map>
#include <mutex>
#include <utility>

#include "compll/cuda/cuda_device.h"
#include "compll/cuda/cuda_modules.h"
#include "runtime/device/cuda/cuda_calls.h"
#include "runtime/device/cuda/cuda_kernels.h"
#include "runtime/device/cuda/cuda_stream.h"
#include "runtime/device/cuda/kernel_text.h"

namespace casync::runtime {
namespace {

using Api = CudaCalls::Api;

class CudaBuffer final : public DeviceBuffer {
 public:
  CudaBuffer(const CudaCalls& calls, Memory kind) : calls_(calls), kind_(kind) {}
  ~CudaBuffer() override {
    if (device_.is_null()) return;
    calls_.in_context([&](const Api& api) {
      return kind_ == Memory::kPinned ? api.free_pinned(host_.data) : api.free(device_.address());
    });
  }
  Api::Code take(Bytes bytes) {
    return calls_.in_context([&](const Api& api) {
      if (kind_ == Memory::kPinned) {
        void* memory = nullptr;
        const Api::Code code = api.allocate_pinned(&memory, bytes, Api::kPortable);
        if (code == 0) host_ = {static_cast<std::byte*>(memory), bytes};
        if (code == 0) device_ = DeviceView::of(memory, bytes);
        return code;
      }
      Api::Memory memory = 0;
      const Api::Code code = api.allocate(&memory, bytes);
      if (code == 0) device_ = {memory, bytes};
      return code;
    });
  }

 private:
  const CudaCalls& calls_;
  const Memory kind_;
};

/// An error of an allocation, with a remedy if the memory is in use.
Status no_memory(const CudaCalls& calls, Bytes bytes, Memory kind, Api::Code code) {
  const bool pinned = kind == Memory::kPinned;
  const std::string asked = "asked for " + std::to_string(bytes) + " bytes of ";
  const Status failed =
      calls.error(asked + (pinned ? "pinned host memory (cuMemHostAlloc)" : "memory of the device (cuMemAlloc)"), code);
  if (code != Api::kOutOfMemory) return failed;
  const char* const remedy = pinned ? "end other programs of the machine, or run fewer ranks there"
                                    : "other programs or a framework's cache may have it (torch.cuda.empty_cache()), "
                                      "and `residual_memory` in the plan takes less of it";
  return Status(failed.code(), failed.message() + ": " + remedy);
}

class CudaDevice final : public Device {
 public:
  CudaDevice(std::unique_ptr<compll::CudaDevice> device, int index, CubinsOf cubins_of)
      : name_("cuda:" + std::to_string(index)),
        index_(index),
        cubins_of_(std::move(cubins_of)),
        device_(std::move(device)),
        calls_(device_->api(), device_->context(), name_ + " (" + device_->facts().name + ")"),
        copies_(calls_) {}
  Status start() { return copies_.make(false); }

  std::string name() const override { return name_; }
  bool is_host() const override { return false; }
  std::string bus_address() const override { return device_->facts().bus_address; }

  Result<std::unique_ptr<DeviceBuffer>> allocate(Bytes bytes, Memory kind) override {
    auto buffer = std::make_unique<CudaBuffer>(calls_, kind);
    const Api::Code code = bytes == 0 ? 0 : buffer->take(bytes);
    if (code != 0) return no_memory(calls_, bytes, kind, code);
    return std::unique_ptr<DeviceBuffer>(std::move(buffer));
  }

  Status check(DeviceView memory) const override {
    if (memory.size() == 0) return Status::ok();
    int kind = 0, ordinal = 0;
    const Api::Code code = calls_.in_context([&](const Api& api) {
      const Api::Code first = api.pointer_attribute(&kind, Api::kMemoryKind, memory.address());
      return first != 0 ? first : api.pointer_attribute(&ordinal, Api::kOrdinal, memory.address());
    });
    if (code != 0 && code != Api::kInvalidValue) return calls_.error("cuPointerGetAttribute", code);
    if (code != 0 || kind != Api::kDeviceMemory) {
      return invalid_argument("its memory is the host's, and the session is on " + name_);
    }
    if (ordinal == index_) return Status::ok();
    return invalid_argument("its memory is on cuda:" + std::to_string(ordinal) + ", and the session is on " + name_);
  }

  Status check_stream(void* stream) const override {
    int status = Api::kCaptureNone;
    const Api::Code code = calls_.in_context([&](const Api& api) { return api.is_capturing(stream, &status); });
    // The default stream would wait for one that is captured.
    if (code == Api::kCaptureImplicit || (code == 0 && status != Api::kCaptureNone)) {
      return invalid_argument("its stream is captured into a CUDA graph: submit it outside of the capture");
    }
    return code == 0 ? Status::ok() : calls_.error("cuStreamIsCapturing", code);
  }

  Result<std::unique_ptr<Stream>> make_stream(bool urgent) override {
    auto stream = std::make_unique<CudaStream>(calls_);
    CASYNC_RETURN_IF_ERROR(stream->make(urgent));
    return std::unique_ptr<Stream>(std::move(stream));
  }
  Result<std::unique_ptr<Event>> make_event() override { return event_with(Api::kWithoutTiming); }
  Result<std::unique_ptr<Event>> make_timed_event() override { return event_with(0); }
  Result<double> seconds_between(const Event& begin, const Event& end) const override {
    const Api::Handle first = static_cast<const CudaEvent&>(begin).handle();
    const Api::Handle last = static_cast<const CudaEvent&>(end).handle();
    float milliseconds = 0;
    CASYNC_RETURN_IF_ERROR(calls_(
        "cuEventElapsedTime", [&](const Api& api) { return api.milliseconds_between(&milliseconds, first, last); }));
    return 1e-3 * static_cast<double>(milliseconds);
  }
  Status record(Event& event, void* stream) override {
    const Api::Handle handle = static_cast<const CudaEvent&>(event).handle();
    return calls_("cuEventRecord in the gradient's stream",
                  [&](const Api& api) { return api.record_event(handle, stream); });
  }

  Status read(DeviceView from, View to) override {
    const std::lock_guard lock(mutex_);
    CASYNC_RETURN_IF_ERROR(copies_.download(from, to));
    return copies_.wait();
  }
  Status write(ConstView from, DeviceView to) override {
    const std::lock_guard lock(mutex_);
    CASYNC_RETURN_IF_ERROR(copies_.upload(from, to));
    return copies_.wait();
  }

  Result<std::unique_ptr<CodecKernels>> kernels(const std::string& codec, const compll::Codec& meaning) override {
    return compiled<CodecKernels>(codec, meaning, make_cuda_kernels);
  }
  Result<std::unique_ptr<TurnKernels>> turn_kernels(const std::string& codec,
                                                    const compll::RoundsCodec& meaning) override {
    return compiled<TurnKernels>(codec, meaning, make_cuda_turns);
  }

 private:
  Result<std::unique_ptr<Event>> event_with(unsigned flags) {
    auto event = std::make_unique<CudaEvent>(calls_);
    CASYNC_RETURN_IF_ERROR(event->make(flags));
    return std::unique_ptr<Event>(std::move(event));
  }
  template <class Kernels, class Meaning, class Make>
  Result<std::unique_ptr<Kernels>> compiled(const std::string& codec, const Meaning& meaning, Make make) {
    const std::lock_guard lock(mutex_);
    Result<compll::CudaCodecText> text = kernel_text(codec, meaning.info());
    if (!text) return text.status();
    auto modules = modules_of(*text);
    if (!modules) return Status(modules.status().code(), "codec `" + codec + "`: " + modules.status().message());
    return make(*device_, calls_, *modules, *text, meaning);
  }

  /// Under the mutex.
  Result<compll::CudaModules> modules_of(const compll::CudaCodecText& text) {
    const auto known = modules_.find(text_of(text));
    if (known != modules_.end()) return known->second;
    const auto cubins = cubins_of_(text, device_->facts().architecture);
    if (!cubins) return cubins.status();
    auto modules = compll::CudaModules::load(*device_, *cubins);
    if (modules) modules_.emplace(text_of(text), *modules);
    return modules;
  }

  const std::string name_;
  const int index_;
  const CubinsOf cubins_of_;
  const std::unique_ptr<compll::CudaDevice> device_;
  const CudaCalls calls_;
  std::mutex mutex_;                                    ///< of what follows, and of device_
  CudaStream copies_;                                   ///< that wait
  std::map<std::string, compll::CudaModules> modules_;  ///< by their text
};

}  // namespace

Result<std::unique_ptr<Device>> make_cuda_device(const compll::DriverApi& api, int index, CubinsOf cubins_of) {
  Result<std::unique_ptr<compll::CudaDevice>> opened = compll::CudaDevice::open(api, index);
  if (!opened) return opened.status();
  auto device = std::make_unique<CudaDevice>(std::move(*opened), index, std::move(cubins_of));
  CASYNC_RETURN_IF_ERROR(device->start());
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace casync::runtime
