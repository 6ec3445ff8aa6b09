// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/support/vector_form_codec.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace casync::compll::test {

VectorFormKernelCodec::VectorFormKernelCodec(const cuda::VectorFormKernels& kernels, const Codec& meaning,
                                             KernelDevice& device)
    : KernelRunner(meaning, device), kernels_(kernels) {
  const std::vector<double>& values = meaning.info().values;
  std::copy_n(values.begin(), std::min<std::size_t>(values.size(), cuda::kMostParameters), settings_.parameters);
  settings_.block = static_cast<std::uint32_t>(meaning.info().block);
  settings_.log2_block = static_cast<std::uint32_t>(std::countr_zero(settings_.block));
}

void VectorFormKernelCodec::run(const cuda::VectorFormFunction& function, std::vector<cuda::Segment>& segments,
                                cuda::Launch launch) {
  launch.codec = settings_;
  launch.segment_count = static_cast<std::uint32_t>(segments.size());
  const std::uint32_t most = device_.blocks_at_once(function.kernel);
  launch.tile =
      cuda::vector_form_tile_of(segments.data(), launch.segment_count, kernels_.tile_elements(settings_), most);
  const std::uint32_t tiles = cuda::place_vector_form_tiles(segments.data(), launch.segment_count, launch.tile);
  std::vector<Guarded> memory;
  for (cuda::Segment& segment : segments) {
    const std::size_t bytes = function.memory_bytes(segment.n, settings_);
    memory.push_back(place(nullptr, bytes));
    device_.fill(memory.back().begin, 0xff, bytes);  // NaN
    device_.fill(memory.back().begin, 0, function.zeroed_bytes(segment.n, settings_));
    segment.memory = reinterpret_cast<unsigned char*>(memory.back().begin);
  }
  const Guarded list = place(segments.data(), segments.size() * sizeof(cuda::Segment));
  launch.segments = reinterpret_cast<const cuda::Segment*>(list.begin);
  const std::uint32_t none = 0;
  const Guarded tickets = place(&none, sizeof none);
  launch.tickets = reinterpret_cast<cuda::uint32_t*>(tickets.begin);
  start(function.kernel, cuda::vector_form_grid_of(tiles, most), launch);
  check_zeros(tickets, sizeof none);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    check_zeros(memory[i], function.zeroed_bytes(segments[i].n, settings_));
  }
}

std::vector<Coded> VectorFormKernelCodec::encode_by(const cuda::VectorFormFunction& function, std::span<const Job> jobs,
                                                    std::vector<cuda::Segment> segments) {
  std::vector<Guarded> payloads;
  std::vector<Kept> kept;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    kept.push_back(keep(jobs[i], segments[i]));
    payloads.push_back(place(nullptr, meaning_.encoded_bound(jobs[i].n)));
    segments[i].payload = reinterpret_cast<unsigned char*>(payloads[i].begin);
  }
  cuda::Launch launch;
  launch.seed = jobs.front().context.seed;
  launch.step = jobs.front().context.step;
  run(function, segments, launch);
  if (adds_residual() && !kernels_.keeps_residual) {
    std::vector<cuda::Segment> decoded;
    for (const cuda::Segment& segment : segments) {
      if (segment.residual_out == nullptr) continue;
      const cuda::Contribution own{segment.payload, nullptr};
      decoded.push_back(segment);
      decoded.back().out = segment.residual_out;
      decoded.back().contribution_count = 1;
      decoded.back().contributions = reinterpret_cast<const cuda::Contribution*>(place(&own, sizeof own).begin);
    }
    if (!decoded.empty()) decode_into(decoded, true, false);
  }
  return fetch_codes(payloads, kept);
}

std::vector<Coded> VectorFormKernelCodec::encode(std::span<const Job> jobs) {
  std::vector<cuda::Segment> segments;
  for (const Job& job : jobs) segments.push_back(segment_of(job));
  return encode_by(kernels_.encode, jobs, segments);
}

void VectorFormKernelCodec::decode_into(std::vector<cuda::Segment>& segments, bool subtracts, bool adds) {
  cuda::Launch launch;
  for (const cuda::Segment& segment : segments) {
    launch.contributions = std::max(launch.contributions, segment.contribution_count);
  }
  launch.subtract = subtracts;
  launch.add = adds;
  run(kernels_.decode, segments, launch);
}

std::vector<Coded> VectorFormKernelCodec::merge(std::span<const Job> jobs) {
  std::vector<cuda::Segment> sums;
  for (const Job& job : jobs) {
    sums.push_back(segment_of(job));
    sums.back().out = place(nullptr, job.n * sizeof(float), job.shift * sizeof(float)).begin;
  }
  decode_into(sums, false, false);
  for (cuda::Segment& segment : sums) {
    segment.in = segment.out;
    segment.in_type = segment.out_type;
  }
  return encode_by(kernels_.merge.kernel != nullptr ? kernels_.merge : kernels_.encode, jobs, sums);
}

std::vector<std::vector<float>> VectorFormKernelCodec::decode(std::span<const Job> jobs, bool add) {
  std::vector<cuda::Segment> segments;
  std::vector<Guarded> outs;
  for (const Job& job : jobs) {
    segments.push_back(segment_of(job));
    outs.push_back(place_out(job, job.before, segments.back()));
  }
  decode_into(segments, false, add);
  return fetch_all(jobs, outs);
}

std::vector<std::vector<float>> VectorFormKernelCodec::result(std::span<const Job> jobs) {
  Results results = place_results(jobs);
  cuda::Launch launch;
  launch.seed = jobs.front().context.seed;
  launch.step = jobs.front().context.step;
  run(kernels_.result, results.segments, launch);
  return fetch_results(jobs, results);
}

}  // namespace casync::compll::test
