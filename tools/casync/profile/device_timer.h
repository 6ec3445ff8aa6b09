// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"
#include "runtime/device/device.h"

namespace casync::tools {

/// A device with a stream of its own, and the seconds of things that follow each other there.
class DeviceTimer {
 public:
  /// `budget_s`: of one measurement. Errors as runtime::open_device, Device::make_stream and make_event.
  static Result<DeviceTimer> open(const std::string& device, double budget_s);

  runtime::Device& device() { return *device_; }
  runtime::Stream& stream() { return *stream_; }

  /// The least seconds of several rounds that each thing takes when many follow each other in the stream.
  Result<double> seconds_of(const std::function<Status()>& queue);
  /// The seconds of a call, or of several that follow each other. Allocates what they need.
  Result<double> seconds_of(runtime::CodecKernels& kernels, const runtime::KernelCall& call);
  Result<double> seconds_of(runtime::TurnKernels& kernels, std::span<const runtime::TurnCall> calls);

 private:
  DeviceTimer(std::unique_ptr<runtime::Device> device, double budget_s)
      : device_(std::move(device)), budget_s_(budget_s) {}

  Status wait();
  template <class Kernels, class Call>
  Result<double> seconds_of_calls(Kernels& kernels, std::span<const Call> calls);
  static Result<runtime::KernelRoom> room_of(runtime::CodecKernels& kernels, const runtime::KernelCall& call);
  static Result<runtime::KernelRoom> room_of(runtime::TurnKernels& kernels, const runtime::TurnCall& call);
  Status issue(runtime::CodecKernels& kernels, const runtime::KernelCall& call, runtime::DeviceBuffer& room,
               runtime::DeviceBuffer& pinned);
  Status issue(runtime::TurnKernels& kernels, const runtime::TurnCall& call, runtime::DeviceBuffer& room,
               runtime::DeviceBuffer& pinned);

  std::unique_ptr<runtime::Device> device_;  // outlives what it made
  std::unique_ptr<runtime::Stream> stream_;
  std::unique_ptr<runtime::Event> event_;
  double budget_s_;
};

}  // namespace casync::tools
