// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/bench/inputs.h"

#include <bit>
#include <cstdint>

namespace casync::tools {
namespace {

/// splitmix64: the position is all the state there is.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Four uniform 16-bit numbers added: close to a normal distribution of variance 1.
float nearly_normal(std::uint64_t bits) {
  const auto sum = (bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48);
  return (static_cast<float>(sum) - 131070.0f) / 37837.0f;
}

}  // namespace

std::vector<float> make_input(Rank rank, Elements count) {
  std::vector<float> input(count);
  const std::uint64_t stream = mix(static_cast<std::uint64_t>(rank) + 1);
  for (Elements i = 0; i < count; ++i) input[i] = nearly_normal(mix(stream + i));
  return input;
}

std::vector<float> plain_average(int ranks, Elements count) {
  std::vector<float> sum = make_input(0, count);
  for (Rank rank = 1; rank < ranks; ++rank) {
    const std::vector<float> input = make_input(rank, count);
    for (Elements i = 0; i < count; ++i) sum[i] += input[i];
  }
  const float scale = 1.0f / static_cast<float>(ranks);
  for (float& value : sum) value *= scale;
  return sum;
}

Elements count_different(std::span<const float> got, std::span<const float> expected) {
  Elements different = 0;
  for (Elements i = 0; i < got.size(); ++i) {
    different += std::bit_cast<std::uint32_t>(got[i]) != std::bit_cast<std::uint32_t>(expected[i]) ? 1 : 0;
  }
  return different;
}

double normalized_error(std::span<const float> got, std::span<const float> exact) {
  double error = 0, energy = 0;
  for (Elements i = 0; i < got.size(); ++i) {
    const double difference = static_cast<double>(got[i]) - exact[i];
    error += difference * difference;
    energy += static_cast<double>(exact[i]) * exact[i];
  }
  return energy > 0 ? error / energy : error;
}

}  // namespace casync::tools
