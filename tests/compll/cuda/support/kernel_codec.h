// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "compll/codec/codec.h"
#include "tests/compll/cuda/support/kernel_memory.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll::test {

/// One vector of a batch.
struct Job {
  Elements n = 0;
  std::vector<float> values;      ///< elements to encode; none for a merge
  std::vector<float> residual;    ///< added to values; none when empty
  std::vector<Coded> codes;       ///< merge and decode: payloads to sum
  std::vector<float> raw;         ///< merge: added, too, when not empty
  std::size_t raw_behind = 5;     ///< raw comes after so many codes, or all
  std::vector<float> before;      ///< decode: added to when not empty
  float scale = 1;                ///< factor of a merge
  bool keeps_residual = true;     ///< true if the part not sent is to be stored
  std::size_t shift = 0;          ///< elements by which memory is off a multiple of 16 bytes
  DType dtype = DType::kFloat32;  ///< of values to encode, raw elements, and what is decoded or the result
  EncodeContext context;
};

/// Runs a codec's kernels.
class KernelRunner : public KernelMemory {
 public:
  /// `meaning` says how large payloads are, and has the parameters' values.
  KernelRunner(const Codec& meaning, KernelDevice& device) : KernelMemory(device), meaning_(meaning) {}
  virtual ~KernelRunner() = default;

  virtual std::vector<Coded> encode(std::span<const Job> jobs) = 0;
  virtual std::vector<Coded> merge(std::span<const Job> jobs) = 0;
  virtual std::vector<std::vector<float>> decode(std::span<const Job> jobs, bool add) = 0;
  /// Runs `result` on decoded elements. Returns the gradient, then the states.
  virtual std::vector<std::vector<float>> result(std::span<const Job> jobs) = 0;

 protected:
  /// Arrays that a segment keeps.
  struct Kept {
    Guarded residual, states;
  };

  /// A segment without anything of the codec's own kind.
  cuda::Segment segment_of(const Job& job);
  /// Places these values, or room for as many as the job has, as elements of the job's type.
  Guarded place_elements(const Job& job, const std::vector<float>& values);
  /// Places what a job's decoding or result is written to, and gives it to the segment.
  Guarded place_out(const Job& job, const std::vector<float>& before, cuda::Segment& segment);
  std::vector<std::vector<float>> fetch_all(std::span<const Job> jobs, const std::vector<Guarded>& outs);
  std::uint32_t own_states() const { return meaning_.info().states - (meaning_.info().feedback ? 1 : 0); }
  bool adds_residual() const { return meaning_.info().feedback || own_states() == 0; }
  Kept keep(const Job& job, cuda::Segment& segment);
  std::vector<Coded> fetch_codes(const std::vector<Guarded>& payloads, const std::vector<Kept>& kept);
  /// Segments whose elements become the gradient, in place where both are float32, as on the CPU.
  struct Results {
    std::vector<cuda::Segment> segments;
    std::vector<Guarded> outs;
    std::vector<Kept> kept;
  };
  Results place_results(std::span<const Job> jobs);
  std::vector<std::vector<float>> fetch_results(std::span<const Job> jobs, const Results& results);

  const Codec& meaning_;
};

/// Kernels of blocks and elements.
class KernelCodec final : public KernelRunner {
 public:
  KernelCodec(const cuda::Kernels& kernels, const Codec& meaning, KernelDevice& device);

  /// Starts one launch for all of them, or two where the codec has statistics of the whole tensor.
  std::vector<Coded> encode(std::span<const Job> jobs) override;
  std::vector<Coded> merge(std::span<const Job> jobs) override;
  std::vector<std::vector<float>> decode(std::span<const Job> jobs, bool add) override;
  std::vector<std::vector<float>> result(std::span<const Job> jobs) override;

 private:
  std::vector<Coded> run(std::span<const Job> jobs, cuda::Kernel statistics, cuda::Kernel kernel);
  static cuda::Settings settings_of(const cuda::Shape& shape, const Codec& meaning);
  cuda::Launch launch_of(std::vector<cuda::Segment>& segments, const EncodeContext& context);

  const cuda::Kernels& kernels_;
  std::uint32_t unit_ = 0, tiles_ = 0;
  Guarded workspace_;
};

}  // namespace casync::compll::test
