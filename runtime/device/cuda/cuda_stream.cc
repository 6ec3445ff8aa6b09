// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_stream.h"

namespace casync::runtime {
namespace {

using Api = CudaCalls::Api;

Api::Handle handle_of(const Event& event) { return static_cast<const CudaEvent&>(event).handle(); }

}  // namespace

Status CudaEvent::make(unsigned flags) {
  return calls_("cuEventCreate", [&](const Api& api) { return api.make_event(&handle_, flags); });
}

CudaEvent::~CudaEvent() {
  if (handle_ != nullptr) calls_.in_context([&](const Api& api) { return api.end_event(handle_); });
}

Result<bool> CudaEvent::done() const {
  const Api::Code code = calls_.in_context([&](const Api& api) { return api.query_event(handle_); });
  if (code == Api::kNotReady) return false;
  if (code != 0) return calls_.error("a kernel or a copy (cuEventQuery)", code);
  return true;
}

Status CudaStream::make(bool urgent) {
  return calls_("cuStreamCreateWithPriority", [&](const Api& api) {
    int least = 0, greatest = 0;
    const Api::Code code = api.stream_priorities(&least, &greatest);
    return code != 0 ? code : api.make_stream(&handle_, Api::kNonBlocking, urgent ? greatest : least);
  });
}

CudaStream::~CudaStream() {
  if (handle_ != nullptr) calls_.in_context([&](const Api& api) { return api.end_stream(handle_); });
}

Status CudaStream::upload(ConstView from, DeviceView to) {
  CASYNC_CHECK(from.size == to.size());
  if (from.size == 0) return Status::ok();
  return calls_("cuMemcpyHtoDAsync",
                [&](const Api& api) { return api.upload(to.address(), from.data, from.size, handle_); });
}

Status CudaStream::download(DeviceView from, View to) {
  CASYNC_CHECK(from.size() == to.size);
  if (to.size == 0) return Status::ok();
  return calls_("cuMemcpyDtoHAsync",
                [&](const Api& api) { return api.download(to.data, from.address(), to.size, handle_); });
}

Status CudaStream::copy(DeviceView from, DeviceView to) {
  CASYNC_CHECK(from.size() == to.size());
  if (to.size() == 0) return Status::ok();
  return calls_("cuMemcpyDtoDAsync",
                [&](const Api& api) { return api.copy(to.address(), from.address(), to.size(), handle_); });
}

Status CudaStream::fill(DeviceView at, std::byte value) {
  if (at.size() == 0) return Status::ok();
  return calls_("cuMemsetD8Async", [&](const Api& api) {
    return api.fill(at.address(), static_cast<unsigned char>(value), at.size(), handle_);
  });
}

Status CudaStream::wait_for(const Event& event) {
  return calls_("cuStreamWaitEvent", [&](const Api& api) { return api.wait_in_stream(handle_, handle_of(event), 0); });
}

Status CudaStream::record(Event& event) {
  return calls_("cuEventRecord", [&](const Api& api) { return api.record_event(handle_of(event), handle_); });
}

Status CudaStream::call(void (*ring)(void*), void* bell) {
  return calls_("cuLaunchHostFunc", [&](const Api& api) { return api.call_host(handle_, ring, bell); });
}

/// Has no deadline: only copies of a stream of the device's own are waited for, by declare() and state(). A device that
/// ends none is lost, and its driver then fails the call.
Status CudaStream::wait() {
  return calls_("a kernel or a copy (cuStreamSynchronize)",
                [&](const Api& api) { return api.wait_for_stream(handle_); });
}

}  // namespace casync::runtime
