// SPDX-License-Identifier: Apache-2.0
//
// Random numbers by element: by statistics of fixed seeds, with limits at 6 standard deviations.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <vector>

#include "compll/ops/random.h"

namespace casync::compll {
namespace {

constexpr std::uint32_t kSteps = 1 << 15;

double uniform(std::uint64_t element, std::uint32_t step) {
  return uniform_from(random_bits({.seed = 3, .gradient = 5, .step = step, .first = 0}, element, 1));
}

/// Chi-squared of the upper three bits of two elements, over many steps: 63 on average if they are independent.
double chi_squared(std::uint64_t first, std::uint64_t second) {
  std::array<double, 64> met{};
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    const auto of = [&](std::uint64_t element) { return static_cast<std::size_t>(8 * uniform(element, step)); };
    ++met[8 * of(first) + of(second)];
  }
  const double expected = kSteps / 64.0;
  double sum = 0;
  for (const double count : met) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST_CASE("random: the words are those of the authors of Philox, with seven rounds") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == PhiloxBlock{0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48});
  constexpr std::uint32_t kOnes = 0xffffffff;
  CHECK(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}) ==
        PhiloxBlock{0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==  // digits of pi
        PhiloxBlock{0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a});
}

TEST_CASE("random: another seed, gradient, step, purpose or place has another number, in all of their bits") {
  const RandomStream plain{.seed = 3, .gradient = 5, .step = 2, .first = 0};
  std::vector<RandomStream> streams(9, plain);
  streams[1].seed = 4;
  streams[2].seed |= std::uint64_t{1} << 32;
  streams[3].gradient = 6;
  streams[4].gradient |= std::uint64_t{1} << 32;
  streams[5].step |= 1u << 31;
  streams[6].first = 512;
  streams[7].first = std::uint64_t{1} << 38;  // its block's number needs more than 32 bits
  streams[8].first = std::uint64_t{1} << 40;
  std::set<std::uint32_t> found = {random_bits(plain, 7, 2)};
  for (const RandomStream& stream : streams) found.insert(random_bits(stream, 7, 1));
  CHECK(found.size() == streams.size() + 1);
}

TEST_CASE("random: any two elements are independent, whether they share words or not") {
  // Neighbours, the same place in two turns, the neighbour's word in another turn, and beyond a group.
  for (const std::uint64_t first : {0, 3, 170, 511}) {
    for (const std::uint64_t apart : {1, 3, 31, 32, 33, 64, 128, 159, 256, 480, 512, 545}) {
      INFO(first << " and " << first + apart);
      CHECK(chi_squared(first, first + apart) < 63 + 6 * std::sqrt(2 * 63.0));
    }
  }
}

TEST_CASE("random: a sum over all elements that share words varies as one of independent numbers") {
  for (const std::uint64_t apart : {1, 32}) {
    double squares = 0;
    constexpr int kTerms = 16;
    for (std::uint32_t step = 0; step < kSteps; ++step) {
      double sum = -kTerms / 2.0;
      for (std::uint64_t i = 0; i < kTerms; ++i) sum += uniform(7 + i * apart, step);
      squares += sum * sum;
    }
    // A variance from so many samples is off by the root of two in their number.
    CHECK(std::fabs(squares / kSteps / (kTerms / 12.0) - 1) < 6 * std::sqrt(2.0 / kSteps));
  }
}

TEST_CASE("random: a number is the element's of the gradient, wherever its partition begins") {
  for (const std::uint64_t first : {1, 32, 511, 512, 100000}) {
    const RandomStream whole{.seed = 3, .gradient = 5, .step = 2, .first = 0};
    const RandomStream part{.seed = 3, .gradient = 5, .step = 2, .first = first};
    for (const std::uint64_t i : {0, 1, 40, 700}) CHECK(random_bits(part, i, 1) == random_bits(whole, first + i, 1));
  }
}

}  // namespace
}  // namespace casync::compll
