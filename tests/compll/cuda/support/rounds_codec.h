// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "compll/codec/rounds_codec.h"
#include "tests/compll/cuda/support/kernel_memory.h"

namespace casync::compll::test {

/// Kernels of a program that exchanges within a step, as a codec whose memory is the host's: each turn is a launch.
class RoundsKernelCodec final : public RoundsCodec, private KernelMemory {
 public:
  /// `meaning` has the parameters' values. Floats lie `shift` floats after a multiple of 16 bytes.
  RoundsKernelCodec(const cuda::RoundsKernels& kernels, const RoundsCodec& meaning, KernelDevice& device,
                    std::size_t shift = 0);

  const CodecInfo& info() const override { return meaning_.info(); }
  RoundsShape shape(Elements rows, Elements columns) const override;
  void prepare_thread() const override {}
  void turn(const Turn& turn, const EncodeContext& context) const override;
  /// The same turn of several matrices, in one launch.
  void turns(std::span<const Turn> turns, std::span<const EncodeContext> contexts);

  using KernelMemory::launches;
  /// Also: whether a kernel changed what it may only read.
  using KernelMemory::wrote_outside;

 private:
  /// A turn's memory on the device.
  struct Place {
    cuda::Segment segment;
    Guarded gradient, states_in, states_out, scratch, out, memory;
    std::vector<Guarded> exchanged;
  };

  Place place_turn(const Turn& turn, const EncodeContext& context, const cuda::TurnFunction& function);
  void fetch_turn(const Turn& turn, const Place& place);
  void fetch_into(const Guarded& memory, float* to);
  void check_same(const Guarded& memory, const float* before);
  void launch(std::vector<Place>& places, const cuda::TurnFunction& function, const EncodeContext& context);
  Guarded place_at(const float* values, Elements count) {
    return place(values, count * sizeof(float), shift_ * sizeof(float));
  }

  const cuda::RoundsKernels& kernels_;
  const RoundsCodec& meaning_;
  cuda::Settings settings_;
  std::size_t shift_;
};

}  // namespace casync::compll::test
