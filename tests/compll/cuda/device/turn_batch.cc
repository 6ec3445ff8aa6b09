// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/device/turn_batch.h"

#include <algorithm>

#include "tests/compll/support/inputs.h"

namespace casync::compll::test {

TurnBatch::TurnBatch(CudaDevice& device, const cuda::RoundsKernels& kernels, const RoundsCodec& meaning, Elements rows,
                     Elements columns)
    : device_(device), kernels_(kernels) {
  device.reset();
  const std::vector<double>& parameters = meaning.info().values;
  std::copy_n(parameters.begin(), std::min<std::size_t>(parameters.size(), cuda::kMostParameters),
              settings_.parameters);
  const cuda::Matrix n{rows, columns};
  const std::vector<float> values = gaussian(std::min<Elements>(n, 1 << 20), 1);
  segment_.n = n;
  segment_.rows = rows;
  segment_.columns = columns;
  segment_.in = floats(n, values);
  segment_.out = floats(n, {});
  segment_.states_in = floats(kernels.state_floats(n, settings_), values);
  segment_.states_out = floats(kernels.state_floats(n, settings_), {});
  segment_.scratch = floats(kernels.scratch_floats(n, settings_), {});
  for (std::uint32_t i = 0; i < kernels.rounds; ++i) {
    segment_.exchanged[i] = floats(kernels.exchanged_floats(i, n, settings_), {});
  }
  for (std::uint32_t turn = 0; turn <= kernels.rounds; ++turn) add_turn(kernels.turns[turn]);
}

float* TurnBatch::floats(Elements n, const std::vector<float>& values) {
  std::byte* const at = device_.allocate(n * sizeof(float));
  for (Elements i = 0; i < n && !values.empty(); i += values.size()) {
    device_.upload(at + i * sizeof(float), values.data(), std::min<Elements>(values.size(), n - i) * sizeof(float));
  }
  return reinterpret_cast<float*>(at);
}

void TurnBatch::add_turn(const cuda::TurnFunction& function) {
  const cuda::Matrix n{segment_.rows, segment_.columns};
  cuda::Segment segment = segment_;
  cuda::Launch launch;
  launch.codec = settings_;
  launch.tile = kernels_.tile_elements(settings_);
  launch.segment_count = 1;
  tiles_ = cuda::place_vector_form_tiles(&segment, 1, launch.tile);
  std::byte* const memory = device_.allocate(function.memory_bytes(n, settings_));
  device_.fill(memory, 0, function.zeroed_bytes(n, settings_));
  segment.memory = reinterpret_cast<unsigned char*>(memory);
  std::byte* const at = device_.allocate(sizeof segment);
  device_.upload(at, &segment, sizeof segment);
  launch.segments = reinterpret_cast<const cuda::Segment*>(at);
  std::byte* const tickets = device_.allocate(sizeof(cuda::uint32_t));
  device_.fill(tickets, 0, sizeof(cuda::uint32_t));
  launch.tickets = reinterpret_cast<cuda::uint32_t*>(tickets);
  launches_.push_back(launch);
}

std::vector<double> TurnBatch::seconds() {
  std::vector<double> all;
  for (std::size_t turn = 0; turn < launches_.size(); ++turn) {
    const cuda::Kernel kernel = kernels_.turns[turn].kernel;
    const cuda::Grid grid = cuda::vector_form_grid_of(tiles_, device_.blocks_at_once(kernel));
    all.push_back(device_.seconds([&] { device_.launch(kernel, grid, launches_[turn]); }));
  }
  return all;
}

}  // namespace casync::compll::test
