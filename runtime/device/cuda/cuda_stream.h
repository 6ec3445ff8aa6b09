// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/cuda/cuda_calls.h"
#include "runtime/device/stream.h"

namespace casync::runtime {

class CudaEvent final : public Event {
 public:
  explicit CudaEvent(const CudaCalls& calls) : calls_(calls) {}
  ~CudaEvent() override;
  /// `flags`: the driver's; without a time an event is cheaper.
  Status make(unsigned flags);
  Result<bool> done() const override;
  CudaCalls::Api::Handle handle() const { return handle_; }

 private:
  const CudaCalls& calls_;
  CudaCalls::Api::Handle handle_ = nullptr;
};

/// A stream of our own.
class CudaStream final : public Stream {
 public:
  explicit CudaStream(const CudaCalls& calls) : calls_(calls) {}
  ~CudaStream() override;
  /// Not urgent: the least priority, which is that of a framework's streams, too.
  Status make(bool urgent);

  void* native() const override { return handle_; }
  Status upload(ConstView from, DeviceView to) override;
  Status download(DeviceView from, View to) override;
  Status copy(DeviceView from, DeviceView to) override;
  Status fill(DeviceView at, std::byte value) override;
  Status wait_for(const Event& event) override;
  Status record(Event& event) override;
  Status call(void (*ring)(void*), void* bell) override;
  /// Not in a step.
  Status wait();

  CudaCalls::Api::Handle handle() const { return handle_; }
  const CudaCalls& calls() const { return calls_; }

 private:
  const CudaCalls& calls_;
  CudaCalls::Api::Handle handle_ = nullptr;
};

}  // namespace casync::runtime
