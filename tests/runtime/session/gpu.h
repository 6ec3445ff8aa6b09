// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compll/cuda/context_scope.h"
#include "compll/cuda/driver_api.h"
#include "compll/ops/cpu/convert.h"
#include "runtime/device/device.h"
#include "runtime/session/session.h"
#include "tests/runtime/session/plan_file.h"

namespace casync::test {

/// The driver and the device that tests run on: emulated (emulated_gpu.cc), or this machine's (real_gpu.cc).
const compll::DriverApi& gpu_driver();
/// The device of this name, "cuda:0" or "cuda:1".
Result<std::unique_ptr<runtime::Device>> open_gpu(const std::string& name);

/// Makes sessions open on it.
inline void on_gpu(runtime::SessionOptions& options) {
  options.device = "cuda:0";
  options.open_device = open_gpu;
}

/// For with_sessions(): sessions by the plan, which has to live as long, on a GPU or on the host.
inline std::function<void(runtime::SessionOptions&)> on_gpu_by(const PlanFile& plan, bool on_device = true) {
  return [&plan, on_device](runtime::SessionOptions& options) {
    options.plan_file = plan.path();
    if (on_device) on_gpu(options);
  };
}

/// Elements of a gradient's type from floats, and floats from them.
inline void convert(const std::vector<float>& values, DType dtype, std::byte* elements) {
  compll::from_float32(values.data(), values.size(), dtype, elements);
}
inline std::vector<float> converted(const std::byte* elements, std::size_t count, DType dtype) {
  std::vector<float> values(count);
  if (dtype != DType::kFloat32) {
    compll::to_float32(dtype, elements, count, values.data());
  } else if (count != 0) {
    std::memcpy(values.data(), elements, count * sizeof(float));
  }
  return values;
}

/// A program's part on a device: memory of gradients, and the stream that writes them. The memory ends after all work
/// of the stream: a session that refuses a gradient leaves the write of that gradient under way.
class Program {
 public:
  explicit Program(const std::string& name = "cuda:0") : device_(std::move(open_gpu(name)).value()) {
    const compll::RelaxedCapture relaxed(gpu_driver());
    gpu_driver().retain_context(&context_, name.ends_with(":1") ? 1 : 0);
    context([&](const auto& api) { api.make_stream(&stream_, compll::DriverApi::kNonBlocking, 0); });
  }
  ~Program() {
    context([&](const auto& api) {
      api.wait_for_stream(stream_);
      api.end_stream(stream_);
    });
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// A gradient in the device's memory. The program owns the memory.
  struct Floats {
    runtime::DeviceBuffer* memory = nullptr;
    runtime::DeviceBuffer* pinned = nullptr;
    std::size_t count = 0;
    DType dtype = DType::kFloat32;
  };
  Floats floats(std::size_t count, DType dtype = DType::kFloat32) {
    const Bytes bytes = count * bytes_of(dtype);
    return {allocate(bytes, runtime::Memory::kDevice), allocate(bytes, runtime::Memory::kPinned), count, dtype};
  }
  /// Queued in the program's stream, from pinned memory: it waits for nothing.
  void write(Floats& floats, const std::vector<float>& values) {
    if (values.empty()) return;
    const View pinned = floats.pinned->view();
    convert(values, floats.dtype, pinned.data);
    context([&](const auto& api) { api.upload(floats.memory->device().address(), pinned.data, pinned.size, stream_); });
  }
  std::vector<float> read(const Floats& floats) {
    std::vector<std::byte> elements(floats.count * bytes_of(floats.dtype));
    if (elements.empty()) return {};
    if (!device_->read(floats.memory->device(), {elements.data(), elements.size()})) return {};
    return converted(elements.data(), floats.count, floats.dtype);
  }
  runtime::Submission submission(runtime::GradientId id, const Floats& floats) const {
    return {id, {}, floats.memory->device(), stream_};
  }

  template <class Call>
  void context(const Call& call) {
    const auto& api = gpu_driver();
    const compll::ContextScope scope(api, context_);
    call(api);
  }
  void* stream() const { return stream_; }

 private:
  runtime::DeviceBuffer* allocate(Bytes bytes, runtime::Memory memory) {
    return memory_.emplace_back(std::move(device_->allocate(bytes, memory)).value()).get();
  }

  std::unique_ptr<runtime::Device> device_;
  std::vector<std::unique_ptr<runtime::DeviceBuffer>> memory_;
  void* context_ = nullptr;  ///< until the process ends
  void* stream_ = nullptr;
};

}  // namespace casync::test
