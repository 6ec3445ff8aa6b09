// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "runtime/device/device.h"

namespace casync::runtime {

/// A device that is another one, but for the calls that a class derived from this answers itself.
class WrappingDevice : public Device {
 public:
  std::string name() const override { return inner_->name(); }
  bool is_host() const override { return inner_->is_host(); }
  std::string bus_address() const override { return inner_->bus_address(); }

  Result<std::unique_ptr<DeviceBuffer>> allocate(Bytes bytes, Memory kind) override {
    return inner_->allocate(bytes, kind);
  }
  Status check(DeviceView memory) const override { return inner_->check(memory); }
  Status check_stream(void* stream) const override { return inner_->check_stream(stream); }

  Result<std::unique_ptr<Stream>> make_stream(bool urgent) override { return inner_->make_stream(urgent); }
  Result<std::unique_ptr<Event>> make_event() override { return inner_->make_event(); }
  Result<std::unique_ptr<Event>> make_timed_event() override { return inner_->make_timed_event(); }
  Result<double> seconds_between(const Event& begin, const Event& end) const override {
    return inner_->seconds_between(begin, end);
  }
  Status record(Event& event, void* stream) override { return inner_->record(event, stream); }

  Status read(DeviceView from, View to) override { return inner_->read(from, to); }
  Status write(ConstView from, DeviceView to) override { return inner_->write(from, to); }

  Result<std::unique_ptr<CodecKernels>> kernels(const std::string& codec, const compll::Codec& meaning) override {
    return inner_->kernels(codec, meaning);
  }
  Result<std::unique_ptr<TurnKernels>> turn_kernels(const std::string& codec,
                                                    const compll::RoundsCodec& meaning) override {
    return inner_->turn_kernels(codec, meaning);
  }

 protected:
  explicit WrappingDevice(std::unique_ptr<Device> inner) : inner_(std::move(inner)) {}

 private:
  const std::unique_ptr<Device> inner_;
};

}  // namespace casync::runtime
