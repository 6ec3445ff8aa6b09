// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "compll/codec/rounds_codec.h"
#include "tests/compll/cuda/device/cuda_device.h"

namespace casync::compll::test {

/// A matrix in the device's memory, with all that the turns of a program take that exchanges. Nothing is exchanged:
/// each turn finds the elements that the last one has made.
class TurnBatch {
 public:
  TurnBatch(CudaDevice& device, const cuda::RoundsKernels& kernels, const RoundsCodec& meaning, Elements rows,
            Elements columns);

  /// Seconds of each turn, each launched by itself.
  std::vector<double> seconds();

 private:
  float* floats(Elements n, const std::vector<float>& values);
  void add_turn(const cuda::TurnFunction& function);

  CudaDevice& device_;
  const cuda::RoundsKernels& kernels_;
  cuda::Settings settings_;
  cuda::Segment segment_;
  std::vector<cuda::Launch> launches_;
  std::uint32_t tiles_ = 0;
};

}  // namespace casync::compll::test
