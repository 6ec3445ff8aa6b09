// SPDX-License-Identifier: Apache-2.0
#include "compll/ops/cpu/bit_function.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "tests/compll/support/instruction_sets.h"

namespace casync::compll {
namespace {

using Bits = std::vector<std::byte>;

/// The arguments as bits, from bit(argument, place); bits after the last are noise.
template <class Bit>
std::vector<Bits> arguments_of(std::size_t size, Elements count, const Bit& bit) {
  std::vector<Bits> all(size, Bits((count + 7) / 8, std::byte{0}));
  for (std::size_t a = 0; a < size; ++a) {
    for (Elements i = 0; i < count; ++i) all[a][i / 8] |= static_cast<std::byte>(bit(a, i) << i % 8);
    if (count % 8 != 0) all[a].back() |= std::byte{0xb6} << count % 8;
  }
  return all;
}

struct Applied {
  Bits out;
  std::uint64_t seen = 0;

  bool operator==(const Applied&) const = default;
};

Applied bit_by_bit(std::uint64_t values, const std::vector<Bits>& arguments, Elements count) {
  Applied all{Bits((count + 7) / 8, std::byte{0})};
  for (Elements i = 0; i < count; ++i) {
    unsigned combination = 0;
    for (std::size_t a = 0; a < arguments.size(); ++a) {
      combination |= (std::to_integer<unsigned>(arguments[a][i / 8]) >> i % 8 & 1) << a;
    }
    all.seen |= std::uint64_t{1} << combination;
    all.out[i / 8] |= static_cast<std::byte>((values >> combination & 1) << i % 8);
  }
  return all;
}

/// Applies the function at odd addresses, and checks that nothing is written next to the output.
Applied apply(std::uint64_t values, const std::vector<Bits>& arguments, Elements count) {
  std::vector<Bits> moved;
  std::vector<const std::byte*> from;
  for (const Bits& argument : arguments) {
    moved.push_back(argument);
    moved.back().insert(moved.back().begin(), moved.size(), std::byte{0xff});
    from.push_back(moved.back().data() + moved.size());
  }
  Bits out((count + 7) / 8 + 5, std::byte{0x5a});
  Applied all;
  all.seen = apply_bit_function(values, from, count, out.data() + 3);
  CHECK((out[2] == std::byte{0x5a} && out[out.size() - 2] == std::byte{0x5a} && out.back() == std::byte{0x5a}));
  all.out.assign(out.begin() + 3, out.end() - 2);
  return all;
}

template <class Bit>
void check_all(std::mt19937_64& random, const std::vector<Elements>& counts, const Bit& bit) {
  for (std::size_t size = 1; size <= kMostBitArguments; ++size) {
    for (const Elements count : counts) {
      const std::vector<Bits> arguments = arguments_of(size, count, bit);
      const std::uint64_t values = random();
      const Applied expected = bit_by_bit(values, arguments, count);
      for (const std::string& set : instruction_sets()) {
        const UseInstructionSet use(set);
        INFO(set << ", " << size << " arguments of " << count << " bits");
        CHECK((apply(values, arguments, count) == expected));
      }
    }
  }
}

}  // namespace

TEST_CASE("bit function: around the ends of bytes, words, vectors and stretches") {
  std::mt19937_64 random(1);
  std::vector<Elements> counts = {0, 1, 2, 7, 8, 9};
  for (const Elements end : {32, 64, 128, 256, 512, 1024, 2048, 8192, 32768}) {
    for (const Elements beside : {end - 1, end, end + 1, end + 13}) counts.push_back(beside);
  }
  counts.push_back(100003);
  check_all(random, counts, [&](std::size_t, Elements) { return static_cast<unsigned>(random() & 1); });
}

TEST_CASE("bit function: combinations that are rare or not there") {
  std::mt19937_64 random(2);
  const std::vector<Elements> counts = {64, 515, 4096, 40001};
  check_all(random, counts, [](std::size_t, Elements i) { return static_cast<unsigned>(i % 7 == 0); });
  check_all(random, counts, [](std::size_t, Elements) { return 1u; });
  for (const Elements count : counts) {
    for (const Elements rare : {Elements{0}, count / 2, count - 1}) {
      check_all(random, {count}, [&](std::size_t a, Elements i) { return static_cast<unsigned>(i == rare && a != 1); });
    }
  }
}

TEST_CASE("bit function: the word of all combinations") {
  for (std::size_t size = 1; size <= kMostBitArguments; ++size) {
    const std::vector<Bits> arguments = arguments_of(
        size, 64, [](std::size_t a, Elements i) { return static_cast<unsigned>(kBitCombinations[a] >> i & 1); });
    for (Elements i = 0; i < 64; ++i) {
      const std::uint64_t value = std::uint64_t{1} << i % (Elements{1} << size);
      const Applied applied = apply(value, arguments, 64);
      CHECK((std::to_integer<unsigned>(applied.out[i / 8]) >> i % 8 & 1) == 1);
      CHECK(applied.seen == (size == 6 ? ~std::uint64_t{0} : (std::uint64_t{1} << (1u << size)) - 1));
    }
  }
}

}  // namespace casync::compll
