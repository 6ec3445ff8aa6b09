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

/// The meaning of one job of encoding, and of decoding its code.
struct Expected {
  Coded code;
  std::vector<float> decoded, sum, result;
};

class Comparer {
 public:
  using Make = std::function<std::unique_ptr<KernelRunner>(KernelDevice&)>;
  Comparer(Make make, const Codec& meaning, Devices devices)
      : make_(std::move(make)), meaning_(meaning), devices_(devices) {}

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
         << name_of(dtype_) << " elements, " << input << ": " << problem << device_title_;
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
    std::vector<Job> decodes, results;
    std::vector<Expected> all;
    for (const Job& job : jobs) {
      Expected expected{encoded(job), {}, {}, {}};
      Job decode_job = job;
      decode_job.values.clear(), decode_job.residual.clear();
      decode_job.before = rounded(laplace(job.n, 9));
      decode_job.codes = {dtype_ == DType::kFloat32 ? expected.code : encoded(stretched(job))};
      const Coded& code = decode_job.codes.front();
      const std::vector<float> decoded = decode(meaning_, code, job.n);
      expected.decoded = rounded(decoded);
      expected.sum = decode_job.before;
      meaning_.decode_add(code.view(), job.n, expected.sum.data());
      expected.sum = rounded(std::move(expected.sum));
      if (meaning_.info().has_result) results.push_back(result_job(decode_job, decoded, expected.result));
      decodes.push_back(std::move(decode_job));
      all.push_back(std::move(expected));
    }
    for (KernelDevice* device : devices_) {
      begin(*device);
      const std::unique_ptr<KernelRunner> kernels = make_(*device);
      const std::vector<Coded> made = kernels->encode(jobs);
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        note("encode", jobs[i], names[i], codes_differ(jobs[i], all[i].code, made[i]));
      }
      if (!found_.empty()) return;
      const auto into = kernels->decode(decodes, false), onto = kernels->decode(decodes, true);
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        note("decode", jobs[i], names[i], numbers_differ(all[i].decoded, into[i]));
        note("decode_add", jobs[i], names[i], numbers_differ(all[i].sum, onto[i]));
      }
      if (!results.empty()) compare_results(*kernels, results, all, names);
      if (kernels->wrote_outside()) note("a kernel", jobs[0], names[0], "wrote outside of its memory");
    }
  }

  /// The job of `result` on these decoded elements, and its meaning.
  Job result_job(Job job, const std::vector<float>& decoded, std::vector<float>& expected) const {
    job.values = decoded;
    job.residual = laplace(job.n * arrays(), 12);
    std::vector<float> after(job.residual.size());
    expected.resize(job.n);
    meaning_.result(job.values.data(), job.n, {job.residual.data(), after.data(), job.n}, job.context, expected.data());
    expected = rounded(std::move(expected));
    // The residual is the first state of a codec that has one. It is the encoder's.
    const Elements first = meaning_.info().feedback ? job.n : 0;
    if (meaning_.info().states != 0) {
      expected.insert(expected.end(), after.begin() + static_cast<std::ptrdiff_t>(first), after.end());
    }
    return job;
  }

  void compare_results(KernelRunner& kernels, const std::vector<Job>& jobs, const std::vector<Expected>& all,
                       const std::vector<std::string>& names) {
    const auto made = kernels.result(jobs);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      note("result", jobs[i], names[i], numbers_differ(all[i].result, made[i]));
    }
  }

  /// A merge of two codes, one of them of infinity.
  Job not_finite_job(Elements n) const {
    Job infinite = job_of(n, gaussian(n, 26), 0), job = job_of(n, {}, 0);
    infinite.values[n / 2] = kInfinity;
    job.codes = {encoded(infinite), encoded(job_of(n, gaussian(n, 27), 1))};
    job.scale = 0.5f;
    return job;
  }

  void merge_some(Elements n) {
    std::vector<Job> jobs;
    std::vector<Coded> expected;
    for (std::size_t count = 0; count <= 5; ++count) {
      Job job = job_of(n, {}, count);
      for (std::size_t c = 0; c < count; ++c) {
        const Job part = job_of(n, gaussian(n, static_cast<std::uint32_t>(20 + c)), c);
        job.codes.push_back(encoded(part));
      }
      if (count % 2 == 0) job.raw = rounded(laplace(n, 30));
      if (count == 4) job.raw_behind = 1;
      job.scale = count == 0 ? 1.0f : 1.0f / static_cast<float>(count);
      expected.push_back(merged(job));
      jobs.push_back(std::move(job));
    }
    if (n != 0) {
      jobs.push_back(not_finite_job(n));
      expected.push_back(merged(jobs.back()));
    }
    for (KernelDevice* device : devices_) {
      begin(*device);
      const std::unique_ptr<KernelRunner> kernels = make_(*device);
      const std::vector<Coded> made = kernels->merge(jobs);
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        // The compiler chooses which of two NaNs a sum keeps, and a payload may have it.
        const std::string problem = expected[i].finite ? codes_differ(jobs[i], expected[i], made[i])
                                    : made[i].finite   ? "the flag of what is not finite"
                                                       : "";
        note("merge", jobs[i], std::to_string(jobs[i].codes.size()) + " codes", problem);
      }
      if (kernels->wrote_outside()) note("a kernel", jobs[0], "merge", "wrote outside of its memory");
    }
  }

  void begin(KernelDevice& device) {
    device.reset();
    device_title_ = device.title().empty() ? "" : ", " + device.title();
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
  const Devices devices_;
  DType dtype_ = DType::kFloat32;
  std::string device_title_;  ///< of the device that runs
  decltype(Comparison::payload_difference) payload_difference_;
  std::string found_;
};

}  // namespace

std::string difference(const cuda::Kernels& kernels, const Codec& meaning, Devices devices,
                       const Comparison& comparison) {
  const Codec& plain = without_coding(meaning);
  const auto make = [&](KernelDevice& device) { return std::make_unique<KernelCodec>(kernels, plain, device); };
  return Comparer(make, plain, devices).run(comparison);
}

std::string difference(const cuda::VectorFormKernels& kernels, const Codec& meaning, Devices devices,
                       const Comparison& comparison) {
  const Codec& plain = without_coding(meaning);
  const auto make = [&](KernelDevice& device) {
    return std::make_unique<VectorFormKernelCodec>(kernels, plain, device);
  };
  return Comparer(make, plain, devices).run(comparison);
}

}  // namespace casync::compll::test
