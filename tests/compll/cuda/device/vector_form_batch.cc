// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/device/vector_form_batch.h"

#include <algorithm>
#include <bit>

#include "tests/compll/cuda/support/element_type.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll::test {

VectorFormBatch::VectorFormBatch(CudaDevice& device, const cuda::VectorFormKernels& kernels, const Codec& meaning,
                                 std::uint32_t count, Elements n, std::uint32_t merged, std::uint32_t largest_tile,
                                 DType dtype)
    : device_(device), kernels_(kernels), largest_tile_(largest_tile), payload_bytes_(meaning.encoded_bound(n)) {
  device.reset();
  const std::vector<double>& parameters = meaning.info().values;
  std::copy_n(parameters.begin(), std::min<std::size_t>(parameters.size(), cuda::kMostParameters),
              settings_.parameters);
  settings_.block = static_cast<std::uint32_t>(meaning.info().block);
  settings_.log2_block = static_cast<std::uint32_t>(std::countr_zero(settings_.block));
  const bool has_residual = meaning.info().feedback;
  subtracts_residual_ = has_residual && !kernels.keeps_residual;
  const std::uint32_t arrays = has_residual ? 1 : kernels.states;
  const std::vector<float> values = gaussian(std::min<Elements>(n, 1 << 20), 1);
  std::vector<cuda::Segment> encode;
  for (std::uint32_t i = 0; i < count; ++i) {
    cuda::Segment segment;
    segment.n = n;
    segment.in = elements(device, n, values, dtype);
    segment.in_type = element_type(dtype);
    segment.out = floats(n, {});
    (has_residual ? segment.residual_in : segment.states_in) = floats(arrays * n, values);
    (has_residual ? segment.residual_out : segment.states_out) = floats(arrays * n, {});
    segment.state_stride = n;
    segment.payload = reinterpret_cast<unsigned char*>(device.allocate(payload_bytes_));
    segment.gradient = i;
    std::vector<cuda::Contribution> all(1, {segment.payload, nullptr});
    while (all.size() < merged) {  // each in memory of its own: a code that is read again would come from the cache
      std::byte* const copy = device_.allocate(payload_bytes_);
      copies_.emplace_back(copy, reinterpret_cast<const std::byte*>(segment.payload));
      all.push_back({reinterpret_cast<const unsigned char*>(copy), nullptr});
    }
    std::byte* const at = device.allocate(all.size() * sizeof all[0]);
    device.upload(at, all.data(), all.size() * sizeof all[0]);
    segment.contributions = reinterpret_cast<const cuda::Contribution*>(at);
    segment.contribution_count = merged;
    encode.push_back(segment);
  }
  encode_ = launch_of(encode, kernels.encode);
  sum_ = launch_of(encode, kernels.decode);
  std::vector<cuda::Segment> decode = encode;
  for (cuda::Segment& segment : decode) segment.out_type = element_type(dtype);
  decode_ = launch_of(decode, kernels.decode);
  decode_.contributions = 1;
  sum_.contributions = merged;
  std::vector<cuda::Segment> residual = encode, merge = encode;
  for (cuda::Segment& segment : residual) segment.out = segment.residual_out;
  for (cuda::Segment& segment : merge) {
    segment.in = segment.out;
    segment.in_type = segment.out_type;
    segment.scale = 1.0f / static_cast<float>(merged);
    segment.payload = reinterpret_cast<unsigned char*>(device.allocate(payload_bytes_));
  }
  residual_ = launch_of(residual, kernels.decode);
  residual_.subtract = true;
  residual_.contributions = 1;
  merge_ = launch_of(merge, kernels.merge.kernel != nullptr ? kernels.merge : kernels.encode);
}

float* VectorFormBatch::floats(Elements n, const std::vector<float>& values) {
  return reinterpret_cast<float*>(elements(device_, n, values, DType::kFloat32));
}

VectorFormBatch::Prepared VectorFormBatch::launch_of(std::vector<cuda::Segment> segments,
                                                     const cuda::VectorFormFunction& function) {
  Prepared launch;
  launch.codec = settings_;
  launch.segment_count = static_cast<std::uint32_t>(segments.size());
  launch.tile = cuda::vector_form_tile_of(segments.data(), launch.segment_count, kernels_.tile_elements(settings_),
                                          device_.blocks_at_once(function.kernel), largest_tile_);
  launch.tiles = cuda::place_vector_form_tiles(segments.data(), launch.segment_count, launch.tile);
  for (cuda::Segment& segment : segments) {
    std::byte* const memory = device_.allocate(function.memory_bytes(segment.n, settings_));
    device_.fill(memory, 0, function.zeroed_bytes(segment.n, settings_));
    segment.memory = reinterpret_cast<unsigned char*>(memory);
  }
  std::byte* const at = device_.allocate(segments.size() * sizeof segments[0]);
  device_.upload(at, segments.data(), segments.size() * sizeof segments[0]);
  launch.segments = reinterpret_cast<const cuda::Segment*>(at);
  std::byte* const tickets = device_.allocate(sizeof(cuda::uint32_t));
  device_.fill(tickets, 0, sizeof(cuda::uint32_t));
  launch.tickets = reinterpret_cast<cuda::uint32_t*>(tickets);
  return launch;
}

void VectorFormBatch::run(const cuda::VectorFormFunction& function, const Prepared& launch) {
  device_.launch(function.kernel, cuda::vector_form_grid_of(launch.tiles, device_.blocks_at_once(function.kernel)),
                 launch);
}

double VectorFormBatch::encode() {
  const double seconds = device_.seconds([&] {
    run(kernels_.encode, encode_);
    if (subtracts_residual_) run(kernels_.decode, residual_);
  });
  for (const auto& [to, from] : copies_) device_.copy(to, from, payload_bytes_);
  return seconds;
}

double VectorFormBatch::merge() {
  return device_.seconds([&] {
    run(kernels_.decode, sum_);
    run(kernels_.merge.kernel != nullptr ? kernels_.merge : kernels_.encode, merge_);
    if (subtracts_residual_) run(kernels_.decode, residual_);
  });
}

double VectorFormBatch::decode() {
  return device_.seconds([&] { run(kernels_.decode, decode_); });
}

VectorFormBatch::Stages VectorFormBatch::stages_of(const std::string& name, const cuda::VectorFormFunction& function,
                                                   Prepared launch) {
  constexpr int kTimes = 15;
  std::vector<cuda::uint64_t> stamps(function.stages + 1);
  std::byte* const at = device_.allocate(stamps.size() * sizeof stamps[0]);
  launch.stamps = reinterpret_cast<cuda::uint64_t*>(at);
  std::vector<std::vector<double>> taken(function.stages);
  for (int i = 0; i < kTimes; ++i) {
    device_.fill(at, 0, stamps.size() * sizeof stamps[0]);
    run(function, launch);
    device_.download(stamps.data(), at, stamps.size() * sizeof stamps[0]);
    for (std::uint32_t stage = 0; stage < function.stages; ++stage) {
      taken[stage].push_back(static_cast<double>(stamps[stage + 1] - stamps[stage]) * 1e-3);
    }
  }
  Stages made{name, {}};
  for (std::vector<double>& times : taken) {
    std::nth_element(times.begin(), times.begin() + kTimes / 2, times.end());
    made.times.push_back(times[kTimes / 2]);
  }
  return made;
}

std::vector<VectorFormBatch::Stages> VectorFormBatch::stages_of_encoding() {
  std::vector<Stages> all = {stages_of("encode", kernels_.encode, encode_)};
  if (subtracts_residual_) all.push_back(stages_of("residual", kernels_.decode, residual_));
  return all;
}

}  // namespace casync::compll::test
