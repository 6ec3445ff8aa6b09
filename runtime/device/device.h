// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "base/units.h"
#include "compll/codec/codec.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/device/codec_kernels.h"
#include "runtime/device/device_memory.h"
#include "runtime/device/stream.h"

namespace casync::runtime {

/// A place where gradients lie and codecs run. docs/devices.md says how to add one.
///
/// Threads: any thread may call anything; what it makes has its own rules.
/// Errors:  Unavailable: the call, and the device's words for it.
class Device {
 public:
  virtual ~Device() = default;  ///< after everything that it made
  /// "cpu", "cuda:0".
  virtual std::string name() const = 0;
  /// True: gradients are the host's memory, which codecs read and write where they are (compll::Codec).
  virtual bool is_host() const = 0;
  /// Its address on the PCI bus, as the kernel writes it: "0000:3b:00.0". "": it is no PCI device, or its driver does
  /// not say.
  virtual std::string bus_address() const { return {}; }

  /// Memory aligned to 256 bytes. Unavailable: how much was asked for, and what the system said.
  virtual Result<std::unique_ptr<DeviceBuffer>> allocate(Bytes bytes, Memory kind) = 0;
  /// OK: a stream of this device can read and write it. InvalidArgument: whose memory it is.
  virtual Status check(DeviceView memory) const = 0;

  /// OK: work can wait for what is queued in `stream`, which a framework made. InvalidArgument: it is captured into a
  /// graph, so that nothing runs there now.
  virtual Status check_stream(void* /*stream*/) const { return Status::ok(); }

  /// A stream of its own. `urgent`: what is queued there goes ahead of other work, as far as the device knows how.
  virtual Result<std::unique_ptr<Stream>> make_stream(bool urgent) = 0;
  /// An event that costs little, and keeps no time.
  virtual Result<std::unique_ptr<Event>> make_event() = 0;
  /// An event that keeps the time when it was reached, and costs more.
  virtual Result<std::unique_ptr<Event>> make_timed_event() = 0;
  /// The seconds on the device from what `begin` last recorded to what `end` did; below 0 if it came first. Never
  /// waits. Unavailable, besides: they are no timed events, one of them was never recorded, or is not done.
  virtual Result<double> seconds_between(const Event& begin, const Event& end) const = 0;
  /// Records `event` in a stream that a framework made, as Stream::record(). `stream`: as the device's runtime has it.
  virtual Status record(Event& event, void* stream) = 0;

  /// Copies between two views of one size, which wait until they are complete. Between steps.
  virtual Status read(DeviceView from, View to) = 0;
  virtual Status write(ConstView from, DeviceView to) = 0;

  /// The kernels of a codec by its name; `meaning` is the same codec on the host, and outlives them. Between steps:
  /// they may have to be compiled. Unimplemented: there are none of this codec; why. Others as compll::make_codec.
  virtual Result<std::unique_ptr<CodecKernels>> kernels(const std::string& codec, const compll::Codec& meaning) = 0;
  /// The same of a codec that exchanges within a step.
  virtual Result<std::unique_ptr<TurnKernels>> turn_kernels(const std::string& codec,
                                                            const compll::RoundsCodec& meaning) = 0;
};

}  // namespace casync::runtime
