// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "base/status.h"
#include "compll/codec/codec.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/device/device_memory.h"
#include "runtime/device/stream.h"

namespace casync::runtime {

/// The functions of a codec that run on a device.
enum class KernelFunction : std::uint8_t {
  kEncode,     ///< payload = E(in)
  kEncodeSum,  ///< payload = E(scale * in), `in` being a sum of what was decoded
  kMerge,      ///< payload = E(scale * the sum of the terms)
  kDecode,     ///< out = the sum of the terms
  kResult,     ///< out = what becomes of `in`, a decoded vector of float32; the two may be the same
};

/// One term of a sum: a payload of the codec, or raw elements. A payload has been checked; one with coded sections has
/// its own size, and only its head has (compll::PayloadCoding).
struct KernelTerm {
  DeviceView payload;
  DeviceView raw;  ///< not null: this, and not `payload`
  DType raw_type = DType::kFloat32;
};

/// The outcome of calls on payloads with coded sections. Its size depends on the elements; a payload that a term is may
/// be none of its codec, which only its kernels find out: then the results are any, and nothing else is touched.
struct KernelOutcome {
  std::uint64_t bytes = 0;  ///< of the payload that was made
  std::uint64_t fault = 0;  ///< not 0: a term is no payload
};

/// A word that kernels set: KernelCall::not_finite.
using KernelWord = std::uint32_t;

/// A function applied to a vector, all of which lies in the device's memory. Payloads begin at multiples of 16
/// bytes. Kernels widen elements of half precision as they read them, and round each result once, as
/// compll::from_float32 does.
struct KernelCall {
  KernelFunction function = KernelFunction::kEncode;
  Elements n = 0;
  DeviceView in;
  DType in_type = DType::kFloat32;  ///< any of kEncode
  std::span<const KernelTerm> terms;
  float scale = 1;
  DeviceView payload;  ///< with coded sections it may be pinned memory
  DeviceView outcome;  ///< of codecs with coded sections: a KernelOutcome in pinned memory, zero ahead of the call
  DeviceView out;      ///< of merge: room for n floats
  DType out_type = DType::kFloat32;  ///< any of kResult, and of kDecode with one term
  /// A KernelWord of pinned memory or of the device's, which becomes 1 if an element of `out` is an infinity or NaN
  /// of half precision, and else stays as it is; null: the caller does not ask.
  DeviceView not_finite;
  DeviceView kept_in, kept_out;  ///< what the codec keeps, as compll::Residual; null where it keeps nothing
  Elements kept_stride = 0;
  compll::EncodeContext context;
};

/// The memory that a call takes besides its vectors: bytes of the device, and pinned bytes from which they are filled.
struct KernelRoom {
  Bytes device = 0, pinned = 0;
};

/// A codec's functions on a device. Payloads and results are byte for byte the host codec's.
///
/// Threads: one at a time.
class CodecKernels {
 public:
  virtual ~CodecKernels() = default;

  /// The room that a batch takes: one or more calls of one function and with the same seed and step, of which all or
  /// none keep something. Addresses do not matter, but for those that are null. Between steps: it may wait
  /// for the device. Unavailable: the device failed.
  virtual Result<KernelRoom> room(std::span<const KernelCall> batch) = 0;

  /// Queues a batch, in as many launches as one call has. Its memory and the room are its own until a later event
  /// is done. Allocates nothing and waits for nothing. Unavailable: as Stream.
  virtual Status issue(std::span<const KernelCall> batch, DeviceView room, View pinned, Stream& stream) = 0;
};

/// One turn of a codec that exchanges within a step, as compll::Turn, on memory of the device.
struct TurnCall {
  std::uint32_t number = 0;
  Elements rows = 0, columns = 0;
  DeviceView gradient;
  std::span<const DeviceView> exchanged;
  DeviceView kept_in, kept_out;  ///< empty where the codec keeps nothing
  DeviceView scratch;
  DeviceView out;  ///< the last turn's; may be `gradient`
  compll::EncodeContext context;
};

/// The turns of such a codec on a device. Results are byte for byte the host codec's.
///
/// Threads: one at a time.
class TurnKernels {
 public:
  virtual ~TurnKernels() = default;

  /// The floats that turns need from turn to turn, which may differ from the host's. Otherwise as room().
  virtual Result<Elements> scratch(Elements rows, Elements columns) = 0;
  /// The number of payloads' heads with which the scratch begins: after the last turn the step is finite if all of
  /// them say so.
  virtual std::size_t heads() const { return 0; }
  /// As CodecKernels::room() and issue().
  virtual Result<KernelRoom> room(const TurnCall& call) = 0;
  virtual Status issue(const TurnCall& call, DeviceView room, View pinned, Stream& stream) = 0;
};

/// Payloads on a device have a header of so many bytes. An identity's has it, too: its elements come behind it.
inline constexpr Bytes kDevicePayloadHead = 16;

}  // namespace casync::runtime
