// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compll/codec/codec.h"
#include "tests/compll/cuda/support/kernel_memory.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll::test {

/// One vector of a batch.
struct Job {
  Elements n = 0;
  std::vector<float> values;    ///< what is encoded; of a merge nothing
  std::vector<float> residual;  ///< what is added; none when empty
  std::vector<Coded> codes;     ///< merge and decode: what is summed
  std::vector<float> raw;       ///< merge: added, too, when not empty
  std::size_t raw_behind = 5;   ///< so many codes, or all
  std::vector<float> before;    ///< decode: added to when not empty
  float scale = 1;              ///< of a merge
  bool keeps_residual = true;   ///< whether what was not sent is wanted
  std::size_t shift = 0;        ///< floats by which memory is off a multiple of 16 bytes
  EncodeContext context;
};

/// Runs a codec's kernels.
class KernelRunner : public KernelMemory {
 public:
  using KernelMemory::KernelMemory;
  virtual ~KernelRunner() = default;

  virtual std::vector<Coded> encode(std::span<const Job> jobs) = 0;
  virtual std::vector<Coded> merge(std::span<const Job> jobs) = 0;
  virtual std::vector<std::vector<float>> decode(std::span<const Job> jobs, bool add) = 0;
  /// Of what was decoded: the gradient, then the states.
  virtual std::vector<std::vector<float>> result(std::span<const Job>) { return {}; }

 protected:
  /// Without anything of the codec's own kind.
  cuda::Segment segment_of(const Job& job);
};

/// Kernels of blocks and elements.
class KernelCodec final : public KernelRunner {
 public:
  /// `meaning` says how large payloads are, and has the parameters' values.
  KernelCodec(const cuda::Kernels& kernels, const Codec& meaning, KernelDevice& device);
  /// The codec whose codes are merged, where it is another one.
  void set_contributed(const cuda::Kernels& kernels, const Codec& meaning);

  /// One launch for all of them, or two where the codec has statistics of the whole tensor.
  std::vector<Coded> encode(std::span<const Job> jobs) override;
  std::vector<Coded> merge(std::span<const Job> jobs) override;
  std::vector<std::vector<float>> decode(std::span<const Job> jobs, bool add) override;

 private:
  std::vector<Coded> run(std::span<const Job> jobs, cuda::Kernel statistics, cuda::Kernel kernel);
  static cuda::Settings settings_of(const cuda::Shape& shape, const Codec& meaning);
  cuda::Launch launch_of(std::vector<cuda::Segment>& segments, const EncodeContext& context);

  const cuda::Kernels& kernels_;
  const Codec& meaning_;
  cuda::Settings contributed_;
  std::uint32_t unit_ = 0, tiles_ = 0;
  Guarded workspace_;
};

}  // namespace casync::compll::test
