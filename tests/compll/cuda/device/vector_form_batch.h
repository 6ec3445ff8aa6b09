// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "compll/codec/codec.h"
#include "tests/compll/cuda/device/cuda_device.h"

namespace casync::compll::test {

/// So many vectors of n elements, in the device's memory, with all that a program in vector form takes.
class VectorFormBatch {
 public:
  /// `dtype`: of what encode reads and decode writes.
  VectorFormBatch(CudaDevice& device, const cuda::VectorFormKernels& kernels, const Codec& meaning, std::uint32_t count,
                  Elements n, std::uint32_t merged, std::uint32_t largest_tile = cuda::kLargestVectorFormTile,
                  DType dtype = DType::kFloat32);

  // Seconds. Encoding keeps a residual, if the codec has one, or its states, and makes the codes that the others read.
  double encode();
  double merge();
  double decode();

  /// The time of a launch for one vector: microseconds of each of its stages, the median of several times.
  struct Stages {
    std::string launch;
    std::vector<double> times;
  };
  std::vector<Stages> stages_of_encoding();

 private:
  /// Segments in the device's memory, and a launch of them.
  struct Prepared : cuda::Launch {
    std::uint32_t tiles = 0;
  };
  Prepared launch_of(std::vector<cuda::Segment> segments, const cuda::VectorFormFunction& function);
  float* floats(Elements n, const std::vector<float>& values);
  void run(const cuda::VectorFormFunction& function, const Prepared& launch);
  Stages stages_of(const std::string& name, const cuda::VectorFormFunction& function, Prepared launch);

  CudaDevice& device_;
  const cuda::VectorFormKernels& kernels_;
  cuda::Settings settings_;
  std::uint32_t largest_tile_;
  Bytes payload_bytes_ = 0;
  bool subtracts_residual_ = false;                              ///< in a launch of its own
  std::vector<std::pair<std::byte*, const std::byte*>> copies_;  ///< of codes: to and from
  Prepared encode_, residual_, sum_, merge_, decode_;
};

}  // namespace casync::compll::test
