// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/support/rounds_codec.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace casync::compll::test {
namespace {

cuda::Matrix matrix_of(const Turn& turn) { return {turn.rows, turn.columns}; }

float* floats_at(std::byte* at) { return reinterpret_cast<float*>(at); }

}  // namespace

RoundsKernelCodec::RoundsKernelCodec(const cuda::RoundsKernels& kernels, const RoundsCodec& meaning,
                                     KernelDevice& device, std::size_t shift)
    : KernelMemory(device), kernels_(kernels), meaning_(meaning), shift_(shift) {
  const std::vector<double>& values = meaning.info().values;
  std::copy_n(values.begin(), std::min<std::size_t>(values.size(), cuda::kMostParameters), settings_.parameters);
}

RoundsShape RoundsKernelCodec::shape(Elements rows, Elements columns) const {
  const cuda::Matrix n{rows, columns};
  RoundsShape all;
  for (std::uint32_t i = 0; i < kernels_.rounds; ++i) {
    all.exchanged.push_back(kernels_.exchanged_floats(i, n, settings_));
  }
  all.states = kernels_.state_floats(n, settings_);
  all.scratch = kernels_.scratch_floats(n, settings_);
  return all;
}

/// The launches are counted, and what went wrong is kept: nothing that the codec computes depends on it.
void RoundsKernelCodec::turn(const Turn& turn, const EncodeContext& context) const {
  const_cast<RoundsKernelCodec*>(this)->turns({&turn, 1}, {&context, 1});
}

void RoundsKernelCodec::turns(std::span<const Turn> turns, std::span<const EncodeContext> contexts) {
  CASYNC_CHECK(!turns.empty() && turns.size() == contexts.size() && turns.front().number <= kernels_.rounds);
  device_.reset();
  const cuda::TurnFunction& function = kernels_.turns[turns.front().number];
  std::vector<Place> places;
  for (std::size_t i = 0; i < turns.size(); ++i) places.push_back(place_turn(turns[i], contexts[i], function));
  launch(places, function, contexts.front());
  for (std::size_t i = 0; i < turns.size(); ++i) fetch_turn(turns[i], places[i]);
}

RoundsKernelCodec::Place RoundsKernelCodec::place_turn(const Turn& turn, const EncodeContext& context,
                                                       const cuda::TurnFunction& function) {
  const cuda::Matrix n = matrix_of(turn);
  const RoundsShape sizes = shape(turn.rows, turn.columns);
  const std::vector<float> zeros(sizes.states);
  Place place;
  cuda::Segment& segment = place.segment;
  segment.n = n;
  segment.rows = turn.rows;
  segment.columns = turn.columns;
  segment.gradient = context.gradient;
  segment.first = context.first;
  place.gradient = place_at(turn.gradient, n);
  segment.in = floats_at(place.gradient.begin);
  place.states_in = place_at(turn.states_in == nullptr ? zeros.data() : turn.states_in, sizes.states);
  segment.states_in = floats_at(place.states_in.begin);
  if (turn.states_out != nullptr) {
    place.states_out = place_at(turn.states_out, sizes.states);
    segment.states_out = floats_at(place.states_out.begin);
  }
  for (std::uint32_t i = 0; i < kernels_.rounds; ++i) {
    place.exchanged.push_back(place_at(turn.exchanged[i], sizes.exchanged[i]));
    segment.exchanged[i] = floats_at(place.exchanged[i].begin);
  }
  place.scratch = KernelMemory::place(turn.scratch, sizes.scratch * sizeof(float));
  segment.scratch = floats_at(place.scratch.begin);
  if (turn.out != nullptr) place.out = turn.out == turn.gradient ? place.gradient : place_at(turn.out, n);
  if (turn.out != nullptr) segment.out = floats_at(place.out.begin);
  const std::size_t bytes = function.memory_bytes(n, settings_);
  place.memory = KernelMemory::place(nullptr, bytes);
  device_.fill(place.memory.begin, 0xff, bytes);  // NaN
  device_.fill(place.memory.begin, 0, function.zeroed_bytes(n, settings_));
  segment.memory = reinterpret_cast<unsigned char*>(place.memory.begin);
  return place;
}

void RoundsKernelCodec::launch(std::vector<Place>& places, const cuda::TurnFunction& function,
                               const EncodeContext& context) {
  std::vector<cuda::Segment> segments;
  for (const Place& place : places) segments.push_back(place.segment);
  cuda::Launch launch;
  launch.codec = settings_;
  launch.seed = context.seed;
  launch.step = context.step;
  launch.tile = kernels_.tile_elements(settings_);
  launch.segment_count = static_cast<std::uint32_t>(segments.size());
  const std::uint32_t tiles = cuda::place_vector_form_tiles(segments.data(), launch.segment_count, launch.tile);
  const Guarded list = place(segments.data(), segments.size() * sizeof(cuda::Segment));
  launch.segments = reinterpret_cast<const cuda::Segment*>(list.begin);
  const std::uint32_t none = 0;
  const Guarded tickets = place(&none, sizeof none);
  launch.tickets = reinterpret_cast<cuda::uint32_t*>(tickets.begin);
  start(function.kernel, cuda::vector_form_grid_of(tiles, device_.blocks_at_once(function.kernel)), launch);
  check_zeros(tickets, sizeof none);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const cuda::Matrix n{segments[i].rows, segments[i].columns};
    check_zeros(places[i].memory, function.zeroed_bytes(n, settings_));
  }
}

void RoundsKernelCodec::fetch_into(const Guarded& memory, float* to) {
  const std::vector<std::byte> bytes = fetch(memory);
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
}

void RoundsKernelCodec::check_same(const Guarded& memory, const float* before) {
  const std::vector<std::byte> now = fetch(memory);
  if (!now.empty() && std::memcmp(now.data(), before, now.size()) != 0) wrote_outside_ = true;
}

void RoundsKernelCodec::fetch_turn(const Turn& turn, const Place& place) {
  if (turn.out != turn.gradient) check_same(place.gradient, turn.gradient);
  if (turn.states_in != nullptr) check_same(place.states_in, turn.states_in);
  for (std::uint32_t i = 0; i < kernels_.rounds; ++i) {
    if (i != turn.number) check_same(place.exchanged[i], turn.exchanged[i]);
  }
  if (turn.number < kernels_.rounds) fetch_into(place.exchanged[turn.number], turn.exchanged[turn.number]);
  if (turn.states_out != nullptr) fetch_into(place.states_out, turn.states_out);
  fetch_into(place.scratch, turn.scratch);
  if (turn.out != nullptr) fetch_into(place.out, turn.out);
}

}  // namespace casync::compll::test
