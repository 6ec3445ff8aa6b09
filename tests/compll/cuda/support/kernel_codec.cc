// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/support/kernel_codec.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "compll/ops/cpu/convert.h"
#include "tests/compll/cuda/support/element_type.h"

namespace casync::compll::test {

KernelMemory::Guarded KernelRunner::place_elements(const Job& job, const std::vector<float>& values) {
  const std::size_t width = bytes_of(job.dtype);
  std::vector<std::byte> elements(values.size() * width);
  from_float32(values.data(), values.size(), job.dtype, elements.data());
  return place(values.empty() ? nullptr : elements.data(), job.n * width, job.shift * width);
}

KernelMemory::Guarded KernelRunner::place_out(const Job& job, const std::vector<float>& before,
                                              cuda::Segment& segment) {
  const Guarded out = place_elements(job, before);
  segment.out = out.begin;
  segment.out_type = element_type(job.dtype);
  return out;
}

std::vector<std::vector<float>> KernelRunner::fetch_all(std::span<const Job> jobs, const std::vector<Guarded>& outs) {
  std::vector<std::vector<float>> all;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::vector<std::byte> elements = fetch(outs[i]);
    all.emplace_back(jobs[i].n);
    to_float32(jobs[i].dtype, elements.data(), jobs[i].n, all.back().data());
  }
  return all;
}

cuda::Segment KernelRunner::segment_of(const Job& job) {
  const auto floats = [&](const std::vector<float>& values) { return place_floats(values, job.shift); };
  cuda::Segment segment;
  segment.n = job.n;
  if (!job.values.empty()) segment.in = place_elements(job, job.values).begin;
  segment.in_type = element_type(job.dtype);
  segment.residual_in = floats(job.residual);
  segment.scale = job.scale;
  segment.gradient = job.context.gradient;
  segment.first = job.context.first;
  std::vector<cuda::Contribution> contributions;
  for (const Coded& code : job.codes) {
    const std::byte* at = place(code.payload.data(), code.payload.size()).begin;
    contributions.push_back({reinterpret_cast<const unsigned char*>(at), nullptr});
  }
  if (!job.raw.empty()) {
    const auto behind = static_cast<std::ptrdiff_t>(std::min(job.raw_behind, contributions.size()));
    contributions.insert(contributions.begin() + behind,
                         {nullptr, place_elements(job, job.raw).begin, segment.in_type});
  }
  segment.contribution_count = static_cast<std::uint32_t>(contributions.size());
  if (!contributions.empty()) {
    const Guarded list = place(contributions.data(), contributions.size() * sizeof(cuda::Contribution));
    segment.contributions = reinterpret_cast<const cuda::Contribution*>(list.begin);
  }
  return segment;
}

KernelRunner::Kept KernelRunner::keep(const Job& job, cuda::Segment& segment) {
  Kept kept;
  std::vector<float> before = job.residual;
  if (adds_residual()) {
    kept.residual = place(nullptr, job.n * sizeof(float), job.shift * sizeof(float));
    if (job.keeps_residual) segment.residual_out = reinterpret_cast<float*>(kept.residual.begin);
    if (!before.empty()) before.erase(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(job.n));
  } else {
    segment.residual_in = nullptr;
  }
  if (own_states() == 0) return kept;
  if (before.empty()) {
    const std::vector<float>& initial = meaning_.info().state_initial;
    for (std::size_t i = meaning_.info().feedback ? 1 : 0; i < initial.size(); ++i) {
      before.insert(before.end(), job.n, initial[i]);
    }
  }
  segment.states_in = place_floats(before, job.shift);
  segment.state_stride = job.n;
  kept.states = place(nullptr, own_states() * job.n * sizeof(float), job.shift * sizeof(float));
  if (job.keeps_residual) segment.states_out = reinterpret_cast<float*>(kept.states.begin);
  return kept;
}

std::vector<Coded> KernelRunner::fetch_codes(const std::vector<Guarded>& payloads, const std::vector<Kept>& kept) {
  std::vector<Coded> all(payloads.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].payload = fetch(payloads[i]);
    all[i].finite = std::to_integer<unsigned>(all[i].payload[4]) == 0;
    if (adds_residual()) all[i].residual = fetch_floats(kept[i].residual);
    if (own_states() == 0) continue;
    const std::vector<float> states = fetch_floats(kept[i].states);
    all[i].residual.insert(all[i].residual.end(), states.begin(), states.end());
  }
  return all;
}

KernelRunner::Results KernelRunner::place_results(std::span<const Job> jobs) {
  Results all;
  for (const Job& job : jobs) {
    cuda::Segment segment = segment_of(job);
    segment.in_type = cuda::ElementType::kFloat32;
    if (job.dtype == DType::kFloat32) {
      all.outs.push_back(place_out(job, job.values, segment));
      segment.in = segment.out;
    } else {
      all.outs.push_back(place_out(job, {}, segment));
      segment.in = place_floats(job.values, job.shift);
    }
    Job whole = job;
    whole.keeps_residual = true;
    all.kept.push_back(keep(whole, segment));
    segment.residual_in = nullptr;  // the encoder's
    segment.residual_out = nullptr;
    all.segments.push_back(segment);
  }
  return all;
}

std::vector<std::vector<float>> KernelRunner::fetch_results(std::span<const Job> jobs, const Results& results) {
  std::vector<std::vector<float>> all = fetch_all(jobs, results.outs);
  for (std::size_t i = 0; i < all.size() && own_states() != 0; ++i) {
    const std::vector<float> states = fetch_floats(results.kept[i].states);
    all[i].insert(all[i].end(), states.begin(), states.end());
  }
  return all;
}

KernelCodec::KernelCodec(const cuda::Kernels& kernels, const Codec& meaning, KernelDevice& device)
    : KernelRunner(meaning, device), kernels_(kernels) {}

cuda::Settings KernelCodec::settings_of(const cuda::Shape& shape, const Codec& meaning) {
  const std::vector<double>& values = meaning.info().values;
  cuda::Settings settings;
  std::copy_n(values.begin(), std::min<std::size_t>(values.size(), cuda::kMostParameters), settings.parameters);
  if (shape.has_blocks) {
    settings.block = shape.block_parameter < 0
                         ? shape.fixed_block
                         : static_cast<std::uint32_t>(values[static_cast<std::size_t>(shape.block_parameter)]);
  }
  settings.log2_block = static_cast<std::uint32_t>(std::countr_zero(settings.block));
  return settings;
}

cuda::Launch KernelCodec::launch_of(std::vector<cuda::Segment>& segments, const EncodeContext& context) {
  const cuda::Shape& shape = kernels_.shape;
  cuda::Launch launch;
  launch.codec = settings_of(shape, meaning_);
  launch.step = context.step;
  launch.seed = context.seed;
  launch.segment_count = static_cast<std::uint32_t>(segments.size());
  unit_ = cuda::unit_of(shape.has_blocks, shape.ordered, launch.codec.block);
  tiles_ = cuda::place_tiles(segments.data(), launch.segment_count, unit_);
  const Guarded list = place(segments.data(), segments.size() * sizeof(cuda::Segment));
  launch.segments = reinterpret_cast<const cuda::Segment*>(list.begin);
  const std::vector<std::uint64_t> zeros(segments.size() * shape.slots);
  workspace_ = place(zeros.data(), zeros.size() * sizeof(std::uint64_t));
  launch.workspace = reinterpret_cast<cuda::uint64_t*>(workspace_.begin);
  return launch;
}

std::vector<Coded> KernelCodec::run(std::span<const Job> jobs, cuda::Kernel statistics, cuda::Kernel kernel) {
  std::vector<cuda::Segment> segments;
  std::vector<Guarded> payloads;
  std::vector<Kept> kept;
  for (const Job& job : jobs) {
    segments.push_back(segment_of(job));
    payloads.push_back(place(nullptr, meaning_.encoded_bound(job.n)));
    segments.back().payload = reinterpret_cast<unsigned char*>(payloads.back().begin);
    kept.push_back(keep(job, segments.back()));
  }
  const cuda::Launch launch = launch_of(segments, jobs.front().context);
  if (kernels_.shape.statistics) start(statistics, cuda::grid_of(tiles_, unit_), launch);
  if (cuda::needs_second(kernels_.shape, segments.data(), launch.segment_count)) {
    start(kernel, cuda::grid_of(tiles_, unit_), launch);
  }
  check_zeros(workspace_, workspace_.bytes);
  return fetch_codes(payloads, kept);
}

std::vector<Coded> KernelCodec::encode(std::span<const Job> jobs) {
  return run(jobs, kernels_.encode_statistics, kernels_.encode);
}
std::vector<Coded> KernelCodec::merge(std::span<const Job> jobs) {
  return run(jobs, kernels_.merge_statistics, kernels_.merge);
}

std::vector<std::vector<float>> KernelCodec::decode(std::span<const Job> jobs, bool add) {
  std::vector<cuda::Segment> segments;
  std::vector<Guarded> outs;
  for (const Job& job : jobs) {
    segments.push_back(segment_of(job));
    outs.push_back(place_out(job, job.before, segments.back()));
  }
  cuda::Launch launch = launch_of(segments, {});
  launch.add = add;
  start(kernels_.decode, cuda::grid_of(tiles_, unit_), launch);
  return fetch_all(jobs, outs);
}

std::vector<std::vector<float>> KernelCodec::result(std::span<const Job> jobs) {
  Results results = place_results(jobs);
  const cuda::Launch launch = launch_of(results.segments, jobs.front().context);
  start(kernels_.result, cuda::grid_of(tiles_, unit_), launch);
  return fetch_results(jobs, results);
}

}  // namespace casync::compll::test
