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
  std::vector<float> raw;       ///< merge: added, too, when not empty
  std::size_t raw_behind = 5;   ///< so many codes, or all
  std::vector<float> before;    ///< decode: added to when not empty
  float scale = 1;              ///< of a merge
  bool keeps_residual = true;   ///< whether what was not sent is wanted
  std::size_t shift = 0;        ///< floats by which memory is off a multiple of 16 bytes
  EncodeContext context;
};

/// Runs a codec's kernels. Around each piece of memory there is more, which nobody may write.
class KernelRunner {
 public:
  explicit KernelRunner(KernelDevice& device) : device_(device) {}
  virtual ~KernelRunner() = default;

  virtual std::vector<Coded> encode(std::span<const Job> jobs) = 0;
  virtual std::vector<Coded> merge(std::span<const Job> jobs) = 0;
  virtual std::vector<std::vector<float>> decode(std::span<const Job> jobs, bool add) = 0;
  /// Of what was decoded: the gradient, then the states.
  virtual std::vector<std::vector<float>> result(std::span<const Job>) { return {}; }

  /// How many launches there were.
  int launches() const { return launches_; }
  /// Whether a kernel wrote where it may not, or left the workspace changed.
  bool wrote_outside() const { return wrote_outside_; }

 protected:
  struct Guarded {
    std::byte* begin = nullptr;
    std::size_t bytes = 0, shift = 0;
  };
  Guarded place(const void* bytes, std::size_t size, std::size_t shift = 0);
  std::vector<std::byte> fetch(const Guarded& memory);
  std::vector<float> fetch_floats(const Guarded& memory);
  const float* place_floats(const std::vector<float>& values, std::size_t shift);
  /// Without anything of the codec's own kind.
  cuda::Segment segment_of(const Job& job);
  void start(cuda::Kernel kernel, const cuda::Grid& grid, const cuda::Launch& launch);
  /// That a kernel left zeros where it has to.
  void check_zeros(const Guarded& memory, std::size_t bytes);

  KernelDevice& device_;
  int launches_ = 0;
  bool wrote_outside_ = false;
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
