// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compll/codec/codec.h"
#include "tests/compll/cuda/support/device.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll::test {

/// One vector of a batch.
struct Job {
  Elements n = 0;
  std::vector<float> values;    ///< what is encoded; of a merge nothing
  std::vector<float> residual;  ///< what is added; none when empty
  std::vector<Coded> codes;     ///< merge and decode: what is summed
  std::vector<float> raw;       ///< merge: added behind them when not empty
  std::vector<float> before;    ///< decode: added to when not empty
  float scale = 1;              ///< of a merge
  bool keeps_residual = true;   ///< whether what was not sent is wanted
  std::size_t shift = 0;        ///< floats by which memory is off a multiple of 16 bytes
  EncodeContext context;
};

/// Runs a codec's kernels. Around each piece of memory there is more, which nobody may write.
class KernelCodec {
 public:
  /// `meaning` says how large payloads are, and has the parameters' values.
  KernelCodec(const cuda::Kernels& kernels, const Codec& meaning, KernelDevice& device);
  /// The codec whose codes are merged, where it is another one.
  void set_contributed(const cuda::Kernels& kernels, const Codec& meaning);

  /// One launch for all of them, or two where the codec has statistics of the whole tensor.
  std::vector<Coded> encode(std::span<const Job> jobs);
  std::vector<Coded> merge(std::span<const Job> jobs);
  std::vector<std::vector<float>> decode(std::span<const Job> jobs, bool add);

  /// How many launches there were.
  int launches() const { return launches_; }
  /// Whether a kernel wrote where it may not, or left the workspace changed.
  bool wrote_outside() const { return wrote_outside_; }

 private:
  struct Guarded {
    std::byte* begin = nullptr;
    std::size_t bytes = 0, shift = 0;
  };
  Guarded place(const void* bytes, std::size_t size, std::size_t shift = 0);
  std::vector<std::byte> fetch(const Guarded& memory);
  std::vector<Coded> run(std::span<const Job> jobs, cuda::Kernel statistics, cuda::Kernel kernel);
  cuda::Segment segment_of(const Job& job);
  static cuda::Settings settings_of(const cuda::Shape& shape, const Codec& meaning);
  cuda::Launch launch_of(std::vector<cuda::Segment>& segments, const EncodeContext& context);
  void start(cuda::Kernel kernel, const cuda::Grid& grid, const cuda::Launch& launch);
  void check_workspace();

  const cuda::Kernels& kernels_;
  const Codec& meaning_;
  KernelDevice& device_;
  cuda::Settings contributed_;
  std::uint32_t unit_ = 0, tiles_ = 0;
  Guarded workspace_;
  int launches_ = 0;
  bool wrote_outside_ = false;
};

}  // namespace casync::compll::test
