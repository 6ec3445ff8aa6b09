// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/support/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <sstream>
#include <utility>

#include "compll/codec/coded/coded_codec.h"
#include "compll/ops/cpu/convert.h"
#include "tests/compll/cuda/support/vector_form_codec.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll::test {
namespace {

constexpr std::uint64_t kSeed = 0x1234567890abcdef;
constexpr std::uint32_t kStep = 17;

std::string at_first_difference(const void* a, const void* b, std::size_t bytes, std::size_t unit) {
  const auto* left = static_cast<const unsigned char*>(a);
  const auto* right = static_cast<const unsigned char*>(b);
  const auto found = std::mismatch(left, left + bytes, right);
  const auto index = static_cast<std::size_t>(found.first - left) / unit;
  std::ostringstream text;
  text << " at " << index << " of " << bytes / unit << std::hex << ": kernel 0x";
  for (std::size_t i = unit; i-- > 0;) text << (right[index * unit + i] < 16 ? "0" : "") << +right[index * unit + i];
  text << ", interpreter 0x";
  for (std::size_t i = unit; i-- > 0;) text << (left[index * unit + i] < 16 ? "0" : "") << +left[index * unit + i];
  return text.str();
}

std::string floats_differ(const std::vector<float>& meaning, const std::vector<float>& kernel) {
  if (same_bytes(meaning, kernel)) return "";
  return at_first_difference(meaning.data(), kernel.data(), meaning.size() * sizeof(float), sizeof(float));
}

/// Compares floats. NaN equals NaN of any bits: the compiler chooses which of two NaNs a sum keeps.
std::string numbers_differ(std::vector<float> meaning, std::vector<float> kernel) {
  for (std::vector<float>* values : {&meaning, &kernel}) {
    for (float& value : *values) value = value != value ? 0.5f : value;
  }
  return floats_differ(meaning, kernel);
}

std::string payloads_differ(const std::vector<std::byte>& meaning, const std::vector<std::byte>& kernel) {
  if (meaning == kernel) return "";
  return at_first_difference(meaning.data(), kernel.data(), meaning.size(), 1);
}

EncodeContext context_of(std::size_t index) { return {kSeed, 0x9876543210 + index, kStep, 1000003 * index}; }

/// Large values that cancel each other in another lane: the rest of a sum shows the order in which it was taken.
std::vector<float> cancelling(Elements n) {
  std::vector<float> values = gaussian(n, 5);
  const std::vector<float> exponents = gaussian(n, 6);
  for (Elements i = 0; i < n; ++i) {
    const Elements pair = i / 5 * 5 + (n - i) % 5;
    values[i] *= std::exp2(std::round(12 * exponents[pair % n]));
  }
  for (Elements i = 0; i + 7 < n; i += 11) values[i + 7] = -values[i];
  return values;
}

/// Stretches with little in them before stretches that are full.
std::vector<float> uneven(Elements n) {
  constexpr Elements kStretch = 1500;
  std::vector<float> values = gaussian(n, 12);
  for (Elements i = 0; i < n; ++i) {
    if (i / kStretch % 3 != 2 && i % 50 != 0) values[i] = 0;
  }
  return values;
}

/// The least and the largest values of float16. Half as much again is rounded, or too large.
std::vector<float> of_float16s_range(Elements n) {
  std::vector<float> values(n);
  for (Elements i = 0; i < n; ++i) {
    values[i] = static_cast<float>(i % 97) * (i % 2 == 0 ? 0x1p-24f : 0x1.ffcp15f / 96) * (i % 3 == 0 ? -1.0f : 1.0f);
  }
  return values;
}

class Comparer {
 public:
  using Make = std::function<std::unique_ptr<KernelRunner>()>;
  Comparer(Make make, const Codec& meaning, KernelDevice& device)
      : make_(std::move(make)), meaning_(meaning), device_(device) {}

  std::string run(const Comparison& comparison) {
    dtype_ = comparison.dtype;
    payload_difference_ = comparison.payload_difference;
    for (const Elements n : comparison.sizes) {
      encode_all(n);
      if (!found_.empty()) return found_;
    }
    for (const Elements n : comparison.merged_sizes) {
      merge_some(n);
      if (!found_.empty()) return found_;
    }
    for (const Elements n : comparison.large) {
      encode_jobs({job_of(n, gaussian(n, 11), 1)}, {"gaussian, large"});
      encode_jobs({job_of(n, uneven(n), 2)}, {"uneven, large"});
      if (!found_.empty()) return found_;
    }
    encode_batch(comparison.batch);
    return found_;
  }

 private:
  /// Arrays that are kept: a residual, or a program's states.
  Elements arrays() const { return std::max<Elements>(meaning_.info().states, 1); }

  Job job_of(Elements n, std::vector<float> values, std::size_t index) const {
    Job job;
    job.n = n;
    job.dtype = dtype_;
    job.values = rounded(std::move(values));
    if (index % 3 != 2) job.residual.assign(n * arrays(), 0.125f);
    for (Elements i = 0; i < job.residual.size(); i += 3) job.residual[i] = -0.25f;
    job.keeps_residual = index % 4 != 3;
    job.shift = index % 5 == 4 ? 1 : 0;
    job.context = context_of(index);
    return job;
  }

  /// The nearest values that the gradient's type has.
  std::vector<float> rounded(std::vector<float> values) const {
    std::vector<std::byte> elements(values.size() * bytes_of(dtype_));
    from_float32(values.data(), values.size(), dtype_, elements.data());
    to_float32(dtype_, elements.data(), values.size(), values.data());
    return values;
  }

  Coded encoded(const Job& job) const { return encode(meaning_, job.values, job.residual, job.context); }

  std::string codes_differ(const Job& job, const Coded& meaning, const Coded& kernel) const {
    const std::string payload = payload_difference_ ? payload_difference_(job.n, meaning.payload, kernel.payload)
                                                    : payloads_differ(meaning.payload, kernel.payload);
    if (!payload.empty()) return "payload" + payload;
    if (meaning.finite != kernel.finite) return "the flag of what is not finite";
    if (!job.keeps_residual || !meaning.finite) return "";
    const std::string residual = numbers_differ(meaning.residual, kernel.residual);
    return residual.empty() ? "" : "residual" + residual;
  }

  /// The same job with values that its type has to round, or does not have.
  static Job stretched(Job job) {
    for (float& value : job.values) value *= 1.5f;
    return job;
  }

  void note(const std::string& what, const Job& job, const std::string& input, const std::string& problem) {
    if (problem.empty() || !found_.empty()) return;
    std::ostringstream text;
    text << meaning_.info().name << ", block " << meaning_.info().block << ", " << what << " of " << job.n << " "
         << name_of(dtype_) << " elements, " << input << ": " << problem;
    found_ = text.str();
  }

  void encode_all(Elements n) {
    std::vector<Job> jobs;
    std::vector<std::string> names;
    for (const Input& input : inputs(n)) {
      jobs.push_back(job_of(n, input.values, jobs.size()));
      names.push_back(input.name);
    }
    jobs.push_back(job_of(n, cancelling(n), jobs.size()));
    names.push_back("cancelling");
    if (dtype_ != DType::kFloat32) {
      jobs.push_back(job_of(n, of_float16s_range(n), jobs.size()));
      names.push_back("of float16's range");
    }
    encode_jobs(jobs, names);
  }

  /// Many sizes in one launch.
  void encode_batch(std::vector<Elements> sizes) {
    for (std::size_t i = 0; i < 12; ++i) sizes.push_back(i * i * 97 % 3001);
    std::vector<Job> jobs;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Elements n = sizes[i];
      jobs.push_back(job_of(n, laplace(n, static_cast<std::uint32_t>(i)), i));
      names.push_back("batch");
    }
    encode_jobs(jobs, names);
  }

  void encode_jobs(const std::vector<Job>& jobs, const std::vector<std::string>& names) {
    device_.reset();
    const std::unique_ptr<KernelRunner> kernels = make_();
    const std::vector<Coded> made = kernels->encode(jobs);
    std::vector<Job> decodes;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const Coded expected = encoded(jobs[i]);
      note("encode", jobs[i], names[i], codes_differ(jobs[i], expected, made[i]));
      Job decode = jobs[i];
      decode.values.clear(), decode.residual.clear();
      decode.before = rounded(laplace(jobs[i].n, 9));
      decode.codes = {dtype_ == DType::kFloat32 ? expected : encoded(stretched(jobs[i]))};
      decodes.push_back(decode);
    }
    if (!found_.empty()) return;
    compare_decoded(*kernels, decodes, names);
    if (meaning_.info().has_result) compare_results(*kernels, decodes, names);
    if (kernels->wrote_outside()) note("a kernel", jobs[0], names[0], "wrote outside of its memory");
  }

  void compare_results(KernelRunner& kernels, std::vector<Job> jobs, const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      jobs[i].values = decode(meaning_, jobs[i].codes.front(), jobs[i].n);
      jobs[i].residual = laplace(jobs[i].n * arrays(), 12);
    }
    const auto made = kernels.result(jobs);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const Job& job = jobs[i];
      std::vector<float> expected(job.n), after(job.residual.size());
      meaning_.result(job.values.data(), job.n, {job.residual.data(), after.data(), job.n}, job.context,
                      expected.data());
      expected = rounded(std::move(expected));
      // The residual is the first state of a codec that has one. It is the encoder's.
      const Elements first = meaning_.info().feedback ? job.n : 0;
      if (meaning_.info().states != 0) expected.insert(expected.end(), after.begin() + first, after.end());
      note("result", job, names[i], numbers_differ(expected, made[i]));
    }
  }

  void compare_decoded(KernelRunner& kernels, const std::vector<Job>& jobs, const std::vector<std::string>& names) {
    const auto into = kernels.decode(jobs, false), onto = kernels.decode(jobs, true);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const Coded& code = jobs[i].codes.front();
      note("decode", jobs[i], names[i], numbers_differ(rounded(decode(meaning_, code, jobs[i].n)), into[i]));
      std::vector<float> sum = jobs[i].before;
      meaning_.decode_add(code.view(), jobs[i].n, sum.data());
      note("decode_add", jobs[i], names[i], numbers_differ(rounded(std::move(sum)), onto[i]));
    }
  }

  void merge_some(Elements n) {
    device_.reset();
    std::vector<Job> jobs;
    for (std::size_t count = 0; count <= 5; ++count) {
      Job job = job_of(n, {}, count);
      for (std::size_t c = 0; c < count; ++c) {
        const Job part = job_of(n, gaussian(n, static_cast<std::uint32_t>(20 + c)), c);
        job.codes.push_back(encoded(part));
      }
      if (count % 2 == 0) job.raw = rounded(laplace(n, 30));
      if (count == 4) job.raw_behind = 1;
      job.scale = count == 0 ? 1.0f : 1.0f / static_cast<float>(count);
      jobs.push_back(job);
    }
    const std::unique_ptr<KernelRunner> kernels = make_();
    const std::vector<Coded> made = kernels->merge(jobs);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      note("merge", jobs[i], std::to_string(i) + " codes", codes_differ(jobs[i], merged(jobs[i]), made[i]));
    }
    if (kernels->wrote_outside()) note("a kernel", jobs[0], "merge", "wrote outside of its memory");
  }

  Coded merged(const Job& job) const {
    std::vector<Contribution> contributions;
    for (const Coded& code : job.codes) contributions.push_back({code.view(), nullptr});
    if (!job.raw.empty() || job.codes.empty()) {
      const auto behind = static_cast<std::ptrdiff_t>(std::min(job.raw_behind, contributions.size()));
      contributions.insert(contributions.begin() + behind, {{}, job.raw.data()});
    }
    Coded coded;
    coded.payload.resize(meaning_.encoded_bound(job.n));
    coded.residual.resize(job.n * arrays());
    const Residual residual{job.residual.empty() ? nullptr : job.residual.data(), coded.residual.data(), job.n};
    coded.finite =
        meaning_.merge(contributions, job.n, job.scale, meaning_, residual, job.context, coded.payload.data()).finite;
    return coded;
  }

  Make make_;
  const Codec& meaning_;
  KernelDevice& device_;
  DType dtype_ = DType::kFloat32;
  decltype(Comparison::payload_difference) payload_difference_;
  std::string found_;
};

}  // namespace

std::string difference(const cuda::Kernels& kernels, const Codec& meaning, KernelDevice& device,
                       const Comparison& comparison) {
  const Codec& plain = without_coding(meaning);
  return Comparer([&] { return std::make_unique<KernelCodec>(kernels, plain, device); }, plain, device).run(comparison);
}

std::string difference(const cuda::VectorFormKernels& kernels, const Codec& meaning, KernelDevice& device,
                       const Comparison& comparison) {
  const Codec& plain = without_coding(meaning);
  return Comparer([&] { return std::make_unique<VectorFormKernelCodec>(kernels, plain, device); }, plain, device)
      .run(comparison);
}

}  // namespace casync::compll::test
