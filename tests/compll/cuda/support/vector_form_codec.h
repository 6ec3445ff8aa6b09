// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "tests/compll/cuda/support/kernel_codec.h"

namespace casync::compll::test {

/// Kernels of a program in vector form: a launch for each function, for all jobs at once.
class VectorFormKernelCodec final : public KernelRunner {
 public:
  VectorFormKernelCodec(const cuda::VectorFormKernels& kernels, const Codec& meaning, KernelDevice& device);

  std::vector<Coded> encode(std::span<const Job> jobs) override;
  std::vector<Coded> merge(std::span<const Job> jobs) override;
  std::vector<std::vector<float>> decode(std::span<const Job> jobs, bool add) override;
  std::vector<std::vector<float>> result(std::span<const Job> jobs) override;

 private:
  std::vector<Coded> encode_by(const cuda::VectorFormFunction& function, std::span<const Job> jobs,
                               std::vector<cuda::Segment> segments);
  /// With memory of its own.
  void run(const cuda::VectorFormFunction& function, std::vector<cuda::Segment>& segments, cuda::Launch launch);
  void decode_into(std::vector<cuda::Segment>& segments, bool subtracts, bool adds);

  const cuda::VectorFormKernels& kernels_;
  cuda::Settings settings_;
};

}  // namespace casync::compll::test
