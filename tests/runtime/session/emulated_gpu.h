// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compll/cuda/context_scope.h"
#include "runtime/device/cuda/cuda_device.h"
#include "runtime/session/session.h"
#include "tests/compll/cuda/emulated/driver.h"

namespace casync::test {

/// The emulated driver's first device, or that of `name`.
inline Result<std::unique_ptr<runtime::Device>> open_emulated(const std::string& name) {
  const auto no_code = [](const compll::CudaCodecText&, const std::string&) -> Result<std::vector<std::string>> {
    return std::vector<std::string>{"no machine code"};
  };
  const int index = name.ends_with(":1") ? 1 : 0;
  return runtime::make_cuda_device(compll::emulated::driver(), index, no_code);
}

/// Makes sessions open on it.
inline void on_emulated(runtime::SessionOptions& options) {
  options.device = "cuda:0";
  options.open_device = open_emulated;
}

/// A program's part on a device: memory of gradients, and the stream that writes them.
class Program {
 public:
  explicit Program(const std::string& name = "cuda:0") : device_(std::move(open_emulated(name)).value()) {
    context([&](const auto& api) { api.make_stream(&stream_, compll::DriverApi::kNonBlocking, 0); });
  }
  ~Program() {
    context([&](const auto& api) { api.end_stream(stream_); });
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// A gradient in the device's memory.
  struct Floats {
    std::unique_ptr<runtime::DeviceBuffer> memory, pinned;
    std::size_t count = 0;
  };
  Floats floats(std::size_t count) {
    const Bytes bytes = count * sizeof(float);
    return {std::move(device_->allocate(bytes, runtime::Memory::kDevice)).value(),
            std::move(device_->allocate(bytes, runtime::Memory::kPinned)).value(), count};
  }
  /// Queued in the program's stream, from pinned memory: it waits for nothing.
  void write(Floats& floats, const std::vector<float>& values) {
    if (values.empty()) return;
    const View pinned = floats.pinned->view();
    std::memcpy(pinned.data, values.data(), pinned.size);
    context([&](const auto& api) { api.upload(floats.memory->device().address(), pinned.data, pinned.size, stream_); });
  }
  std::vector<float> read(const Floats& floats) {
    std::vector<float> values(floats.count);
    if (values.empty()) return values;
    const View to{reinterpret_cast<std::byte*>(values.data()), floats.count * sizeof(float)};
    if (!device_->read(floats.memory->device(), to)) values.clear();
    return values;
  }
  runtime::Submission submission(runtime::GradientId id, const Floats& floats) const {
    return {id, {}, floats.memory->device(), stream_};
  }

  template <class Call>
  void context(const Call& call) {
    const auto& api = compll::emulated::driver();
    void* context = nullptr;
    api.retain_context(&context, 0);
    const compll::ContextScope scope(api, context);
    call(api);
  }
  void* stream() const { return stream_; }

 private:
  std::unique_ptr<runtime::Device> device_;
  void* stream_ = nullptr;
};

}  // namespace casync::test
