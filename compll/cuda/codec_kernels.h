// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>

#include "base/check.h"
#include "base/status.h"
#include "compll/codec/codec.h"
#include "compll/codec/rounds_codec.h"
#include "compll/codegen/cuda/codec_text.h"
#include "compll/cuda/cuda_device.h"
#include "compll/cuda/cuda_modules.h"
#include "compll/cuda/staged_memory.h"

namespace casync::compll {

/// Launches in their order: as many as a function, coding included, or a whole step of rounds takes. In place, so that
/// a step of a session allocates nothing.
class Launches {
 public:
  Launches() = default;
  Launches(std::initializer_list<ReadyLaunch> all) {
    for (const ReadyLaunch& each : all) push_back(each);
  }
  void push_back(const ReadyLaunch& one) {
    CASYNC_CHECK(count_ < kMost);
    all_[count_++] = one;
  }
  const ReadyLaunch* begin() const { return all_.data(); }
  const ReadyLaunch* end() const { return all_.data() + count_; }
  const ReadyLaunch& front() const { return all_[0]; }
  ReadyLaunch& back() { return all_[count_ - 1]; }
  std::size_t size() const { return count_; }
  const ReadyLaunch* data() const { return begin(); }

 private:
  static constexpr std::size_t kMost = cuda::kMostRounds + 1;
  std::array<ReadyLaunch, kMost> all_;
  std::size_t count_ = 0;
};

/// The kernels of a codec that encodes. Each function returns the launches, in order, that process a batch of segments,
/// at least one, whose vectors are in the device's memory. Pointers to kept arrays are null, in all
/// segments alike, for those that are not wanted. Random numbers follow from the segment's own `gradient` and `first`,
/// and from the seed and step of `context`. After a call with as many segments the next one allocates nothing.
///
/// Threads: one at a time.
class CodecKernels {
 public:
  using Segments = std::span<const cuda::Segment>;

  virtual ~CodecKernels() = default;

  /// Encodes `in` into `payload`.
  virtual Launches encode(Segments segments, const EncodeContext& context, LaunchMemory& memory) const = 0;
  /// Encodes `scale` times `in`, which is a sum of decoded vectors.
  virtual Launches encode_sum(Segments segments, const EncodeContext& context, LaunchMemory& memory) const = 0;
  /// Encodes `scale` times the sum of `contributions`. `out` has room for n floats, and is float32.
  virtual Launches merge(Segments segments, const EncodeContext& context, LaunchMemory& memory) const = 0;
  /// Writes the sum of `contributions` to `out`, or adds it. Where `out` has half precision, kernels in vector form
  /// take one contribution.
  virtual Launches decode(Segments segments, bool add, LaunchMemory& memory) const = 0;
  /// Computes `out` from `in`, which is float32; the two may be the same.
  virtual Launches result(Segments segments, const EncodeContext& context, LaunchMemory& memory) const = 0;
};

/// The kernels of a codec that exchanges within a step. A turn processes one segment, with the random numbers of
/// `context`.
class TurnKernels {
 public:
  virtual ~TurnKernels() = default;
  virtual RoundsShape shape(Elements rows, Elements columns) const = 0;
  virtual Launches turn(std::uint32_t number, const cuda::Segment& segment, const EncodeContext& context,
                        LaunchMemory& memory) const = 0;
};

/// Kernels of the compiled modules of a text. `info` has the parameters' values. Unavailable: the modules lack a
/// kernel, or the device fails. Unimplemented: no tile has whole blocks of all sizes that the parameters ask for.
Result<std::unique_ptr<CodecKernels>> make_tile_kernels(CudaDevice& device, const CudaModules& modules,
                                                        const CudaText& text, const CodecInfo& info);
Result<std::unique_ptr<CodecKernels>> make_vector_form_kernels(CudaDevice& device, const CudaModules& modules,
                                                               const CudaVectorForm& text, const CodecInfo& info);
Result<std::unique_ptr<TurnKernels>> make_turn_kernels(CudaDevice& device, const CudaModules& modules,
                                                       const CudaRounds& text, const CodecInfo& info);

}  // namespace casync::compll
