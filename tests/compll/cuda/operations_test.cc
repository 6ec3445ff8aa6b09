// SPDX-License-Identifier: Apache-2.0
//
// The operations of kernels, on this host, compared with those of the interpreter.
#include "tests/compll/cuda/emulated/emulated.h"
// After it.
#include <catch2/catch.hpp>
#include <limits>
#include <random>

#include "compll/interpreter/bit_sections.h"
#include "compll/interpreter/reductions.h"
#include "compll/ops/cpu/convert.h"
#include "compll/ops/cuda/vector_form.cuh"
#include "compll/ops/random.h"

// The operations do not exchange anything; what does is tested with whole kernels.
casync::compll::emulated::Index threadIdx, blockIdx;
namespace casync::compll::emulated {
const std::uint64_t* exchange(const char*, std::uint64_t) { return nullptr; }
void wait_for_block() {}
void let_others_in() {}
}  // namespace casync::compll::emulated

namespace casync::compll {

// The functions of operators that are one call: without one of them this does not compile.
namespace functions {
#define COMPLL_VECTOR(id, word, ...) using cuda::word;
#include "compll/lang/operators.def"
}  // namespace functions

namespace {

std::vector<float> floats() {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> all = {0,
                            -0.0f,
                            0.5f,
                            -0.5f,
                            1,
                            -1,
                            2.5f,
                            7,
                            8,
                            -8,
                            -9,
                            127.5f,
                            1e-40f,
                            -1e-40f,
                            0x1p31f,
                            -0x1p31f,
                            0x1p32f,
                            4294967040.0f,
                            2147483520.0f,
                            3e38f,
                            infinity,
                            -infinity,
                            std::nanf("1"),
                            -std::nanf("7"),
                            std::bit_cast<float>(0x7f800001u)};
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  return all;
}

std::vector<std::uint32_t> words() {
  std::vector<std::uint32_t> all = {0, 1, 2, 7, 8, 31, 32, 33, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff};
  std::mt19937 random(2);
  for (int i = 0; i < 100; ++i) all.push_back(static_cast<std::uint32_t>(random()));
  return all;
}

template <std::uint32_t kBits>
void check_conversions() {
  const ScalarType to_int{ScalarType::Kind::kInt, kBits}, to_uint{ScalarType::Kind::kUint, kBits};
  for (const float x : floats()) {
    const double wide = static_cast<double>(x) * 1.0000001;
    INFO(kBits << " bits, " << x);
    CHECK(cuda::to_int<kBits>(x) == converted(Scalar::of_float(x), kFloatType, to_int).as_int());
    CHECK(cuda::to_uint<kBits>(x) == converted(Scalar::of_float(x), kFloatType, to_uint).as_uint());
    CHECK(cuda::to_int<kBits>(wide) == converted(Scalar::of_double(wide), kDoubleType, to_int).as_int());
    CHECK(cuda::to_uint<kBits>(wide) == converted(Scalar::of_double(wide), kDoubleType, to_uint).as_uint());
  }
  for (const std::uint32_t x : words()) {
    const auto whole = static_cast<std::int32_t>(x);
    CHECK(cuda::to_int<kBits>(whole) == converted(Scalar::of_int(whole), kIntType, to_int).as_int());
    CHECK(cuda::to_uint<kBits>(whole) == converted(Scalar::of_int(whole), kIntType, to_uint).as_uint());
    CHECK(cuda::to_int<kBits>(x) == converted(Scalar::of_uint(x), kUintType, to_int).as_int());
    CHECK(cuda::to_uint<kBits>(x) == converted(Scalar::of_uint(x), kUintType, to_uint).as_uint());
  }
}

Scalar meaning(Op op, ScalarType type, Scalar a, Scalar b) { return computed(op, type, std::array{a, b}); }

/// Quads of a section written as a warp would: the first thread of two has the next one's lowest bits.
template <std::uint32_t kBits>
void check_packing() {
  std::mt19937 random(kBits);
  for (const std::size_t n : {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 29}) {
    std::vector<Scalar> elements(n);
    for (Scalar& each : elements) each = Scalar::of_uint(static_cast<std::uint32_t>(random()));
    const SectionPlace place{kBits, n, 0};
    std::vector<std::byte> expected(place.bytes() + 1, std::byte{0x5a});
    write_section(place, elements, expected.data());
    std::vector<cuda::Quad<std::uint32_t>> words(expected.size() / 16 + 2);
    auto* made = reinterpret_cast<unsigned char*>(words.data());
    std::memset(made, 0x5a, expected.size());
    std::vector<cuda::Packed> quads;
    for (std::size_t i = 0; i < n + 4; i += 4) {
      cuda::Quad<std::uint32_t> codes;
      for (std::uint32_t k = 0; k < 4; ++k) codes[k] = i + k < n ? elements[i + k].as_uint() : 0xffffffff;
      quads.push_back(cuda::packed<kBits>(codes, static_cast<std::uint32_t>(i < n ? n - i : 0)));
    }
    for (std::size_t i = 0; i < n; i += 4) {
      const auto rest = static_cast<std::uint32_t>(n - i);
      if constexpr (kBits % 2 == 0)
        cuda::store_even<kBits>(quads[i / 4], made, i, rest);
      else
        cuda::store_odd<kBits>(quads[i / 4], quads[i / 4 + 1].low & 15, made, i, rest);
    }
    INFO(kBits << " bits, " << n << " elements");
    CHECK(std::memcmp(made, expected.data(), expected.size()) == 0);
    for (std::size_t i = 0; i < n; i += 4) {
      const auto back = cuda::load_quad<kBits>(made, i, static_cast<std::uint32_t>(n - i));
      for (std::uint32_t k = 0; k < 4 && i + k < n; ++k) {
        CHECK(back[k] == (elements[i + k].as_uint() & (0xffffffffu >> (32 - kBits))));
      }
    }
  }
}

/// Sections of trits, byte by byte as a thread writes them.
void check_trits(std::size_t n) {
  std::mt19937 random(static_cast<std::uint32_t>(n));
  std::vector<Scalar> elements(n);
  for (Scalar& each : elements) each = Scalar::of_int(static_cast<std::int32_t>(random() % 3) - 1);
  const SectionPlace place{kTrits, n, 0};
  std::vector<std::byte> expected(place.bytes());
  write_section(place, elements, expected.data());
  CHECK(cuda::end_of_section(48, n, cuda::kTrits) == 48 + place.bytes());
  for (std::size_t i = 0; i < n; i += 5) {
    std::uint32_t byte = 0;
    for (std::size_t k = std::min(i + 5, n); k-- > i;) byte = cuda::with_trit(byte, elements[k].as_int());
    CHECK(byte == std::to_integer<std::uint32_t>(expected[i / 5]));
  }
  const auto* section = reinterpret_cast<const unsigned char*>(expected.data());
  for (std::size_t i = 0; i < n; ++i) CHECK(cuda::load_trit(section, i) == elements[i].as_int());
}

template <std::uint32_t... kBits>
void for_widths(std::integer_sequence<std::uint32_t, kBits...>) {
  (check_conversions<kBits + 1>(), ...);
  (check_packing<kBits + 1>(), ...);
}

template <class Reducer, class T>
Scalar reduced_backwards(const std::vector<T>& elements) {
  std::uint64_t word = 0;
  for (std::size_t i = elements.size(); i-- > 0;) {
    Reducer one;
    one.take(elements[i]);
    word = Reducer::join(word, decltype(word){one.word()});
  }
  const auto value = Reducer::value_of(word);
  return {std::bit_cast<std::uint32_t>(value)};
}

}  // namespace

TEST_CASE("cuda operations: tiles of the vector form are so large that each block of threads has one") {
  for (const std::uint32_t least : {4096u, 12288u, 20480u}) {
    for (const std::uint32_t most : {1u, 7u, 924u}) {
      for (const std::uint64_t n : {0ull, 1ull, 4096ull, 100000ull, 1ull << 20, 1ull << 26, 1ull << 30}) {
        for (const std::uint32_t count : {1u, 3u}) {
          std::vector<cuda::Segment> segments(count);
          for (cuda::Segment& segment : segments) segment.n = n;
          INFO(least << ' ' << most << ' ' << n << ' ' << count);
          const std::uint32_t tile = cuda::vector_form_tile_of(segments.data(), count, least, most);
          CHECK(tile % least == 0);
          CHECK(tile <= 131072);
          const std::uint32_t tiles = cuda::place_vector_form_tiles(segments.data(), count, tile);
          if (2 * count <= most && count * n <= most * 65536ull) CHECK(tiles <= most);
        }
      }
    }
  }
}

TEST_CASE("cuda operations: division by a constant as multiply-adds is division") {
  std::mt19937 random(5);
  for (const float by :
       {1.0f, 3.0f, 7.0f, 15.0f, 100.0f, 127.0f, 255.0f, 1.1f, -7.0f, 32767.0f, 123456.0f, 0x1.fffffep20f}) {
    int different = 0;
    for (int x = -(1 << 16); x <= 1 << 16; ++x) {
      const float whole = static_cast<float>(x);
      different +=
          std::bit_cast<std::uint32_t>(cuda::divide_whole(whole, by)) != std::bit_cast<std::uint32_t>(whole / by);
    }
    for (int i = 0; i < 100000; ++i) {
      const float whole = static_cast<float>(static_cast<int>(random() % (1u << 24)));
      different += whole != 0 && cuda::divide_whole(whole, by) != whole / by;
    }
    INFO(by);
    CHECK(different == 0);
  }
  for (const double by : {1.0, 3.0, 7.0, 15.0, 255.0, 1.1, -15.0, 65535.0, 0x1.fffffffffffffp20}) {
    int different = 0;
    for (const float a : floats()) {
      for (const double b : {0.0, -0.0, 3.0, 1e-30, static_cast<double>(a), 0x1p-149, 1e38, 7 / 3.0}) {
        const double x = static_cast<double>(a) * b + b;
        different +=
            std::bit_cast<std::uint64_t>(cuda::divide_mild(x, by)) != std::bit_cast<std::uint64_t>(cuda::divide(x, by));
      }
    }
    INFO(by);
    CHECK(different == 0);
  }
}

TEST_CASE("cuda operations: conversions and packed sections of 1 to 32 bits") {
  for_widths(std::make_integer_sequence<std::uint32_t, 32>());
}

TEST_CASE("cuda operations: trits, five in a byte, and whatever becomes one") {
  CHECK(cuda::kTrits == kTrits);
  for (std::size_t n = 0; n < 33; ++n) check_trits(n);
  check_trits(3000);
  for (const float x : floats()) {
    const double wide = static_cast<double>(x) * 1.0000001;
    CHECK(cuda::to_trit(x) == converted(Scalar::of_float(x), kFloatType, kTritType).as_int());
    CHECK(cuda::to_trit(wide) == converted(Scalar::of_double(wide), kDoubleType, kTritType).as_int());
  }
  for (const std::uint32_t x : words()) {
    const auto whole = static_cast<std::int32_t>(x);
    CHECK(cuda::to_trit(whole) == converted(Scalar::of_int(whole), kIntType, kTritType).as_int());
    CHECK(cuda::to_trit(x) == converted(Scalar::of_uint(x), kUintType, kTritType).as_int());
  }
  CHECK(cuda::to_trit(true) == 1);
  CHECK(cuda::to_trit(false) == 0);
}

TEST_CASE("cuda operations: integers wrap around, and nothing is undefined") {
  for (const std::uint32_t u : words()) {
    for (const std::uint32_t v : words()) {
      const auto a = static_cast<std::int32_t>(u), b = static_cast<std::int32_t>(v);
      const Scalar x = Scalar::of_uint(u), y = Scalar::of_uint(v);
      CHECK(cuda::add(a, b) == meaning(Op::kAdd, kIntType, x, y).as_int());
      CHECK(cuda::subtract(a, b) == meaning(Op::kSubtract, kIntType, x, y).as_int());
      CHECK(cuda::multiply(a, b) == meaning(Op::kMultiply, kIntType, x, y).as_int());
      CHECK(cuda::quotient(a, b) == meaning(Op::kDivide, kIntType, x, y).as_int());
      CHECK(cuda::remainder(a, b) == meaning(Op::kRemainder, kIntType, x, y).as_int());
      CHECK(cuda::quotient(u, v) == meaning(Op::kDivide, kUintType, x, y).as_uint());
      CHECK(cuda::remainder(u, v) == meaning(Op::kRemainder, kUintType, x, y).as_uint());
      CHECK(cuda::shift_left(a, v) == meaning(Op::kShiftLeft, kIntType, x, y).as_int());
      CHECK(cuda::shift_right(a, v) == meaning(Op::kShiftRight, kIntType, x, y).as_int());
      CHECK(cuda::min(a, b) == meaning(Op::kMin, kIntType, x, y).as_int());
      CHECK(cuda::max(u, v) == meaning(Op::kMax, kUintType, x, y).as_uint());
    }
    CHECK(cuda::abs(static_cast<std::int32_t>(u)) ==
          meaning(Op::kAbs, kIntType, Scalar::of_uint(u), Scalar()).as_int());
  }
}

#ifdef __x86_64__
TEST_CASE("cuda operations: a NaN has the bits that it has here") {
  const std::vector<float> all = floats();
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    const volatile float a = all[i];
    const volatile float b = all[(7 * i + 1) % all.size()];
    const float x = a, y = b;
    if (x != x && y != y) continue;  // the compiler chooses which of the two stays
    INFO(x << " and " << y);
    CHECK(cuda::bits(cuda::add(x, y)) == cuda::bits(x + y));
    CHECK(cuda::bits(cuda::subtract(x, y)) == cuda::bits(x - y));
    CHECK(cuda::bits(cuda::multiply(x, y)) == cuda::bits(x * y));
    CHECK(cuda::bits(cuda::divide(x, y)) == cuda::bits(x / y));
    CHECK(cuda::bits(cuda::negated(x)) == cuda::bits(-x));
    CHECK(cuda::same_bits<std::uint64_t>(cuda::widened(x)) == cuda::same_bits<std::uint64_t>(static_cast<double>(x)));
    const volatile double wide = x;  // not the same as x again: narrowing makes a NaN quiet
    CHECK(cuda::bits(cuda::narrowed(cuda::widened(x))) == cuda::bits(static_cast<float>(wide)));
  }
}
#endif

TEST_CASE("cuda operations: half precision is widened and rounded as the host does it") {
  const std::pair<DType, cuda::ElementType> types[] = {{DType::kFloat16, cuda::ElementType::kFloat16},
                                                       {DType::kBFloat16, cuda::ElementType::kBFloat16}};
  for (const auto& [dtype, type] : types) {
    INFO(name_of(dtype));
    std::vector<std::uint16_t> codes(65536);
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint16_t>(i);
    std::vector<float> values(codes.size());
    to_float32(dtype, codes.data(), codes.size(), values.data());
    const cuda::Elements elements(codes.data(), type);
    std::size_t different = 0;
    for (std::size_t i = 0; i < codes.size(); ++i) different += cuda::bits(elements(i)) != cuda::bits(values[i]);
    CHECK(different == 0);
    // Each value, both neighbours as floats, what lies between it and the next value, and its neighbours.
    std::vector<float> all = floats();
    for (const float x : values) {
      const float half_a_step =
          std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) + (dtype == DType::kFloat16 ? 0x1000u : 0x8000u));
      for (const float y : {x, x + 0x1p-25f, half_a_step}) {
        for (const std::uint32_t by : {0u, 1u, ~0u})
          all.push_back(std::bit_cast<float>(std::bit_cast<std::uint32_t>(y) + by));
      }
    }
    std::vector<std::uint16_t> expected(all.size()), made(all.size());
    from_float32(all.data(), all.size(), dtype, expected.data());
    cuda::uint32_t not_finite = 0;
    cuda::Segment segment;
    segment.out = made.data();
    segment.out_type = type;
    segment.not_finite = &not_finite;
    const cuda::Results results(segment);
    std::size_t untold = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      not_finite = 0;
      results[i] = all[i];
      std::uint16_t code = 0;
      untold += (not_finite == 0) != from_float32(&all[i], 1, dtype, &code);
    }
    CHECK(made == expected);
    CHECK(untold == 0);
    // Four at a time, from any address on.
    for (std::size_t first : {0, 1, 2, 3, 4}) {
      for (std::uint32_t rest = 0; rest < 6; ++rest) {
        std::vector<std::uint16_t> few(12, 0x1234), wanted = few;
        const cuda::Quad<float> quad = {{1.5f, -0.0f, 3.4e38f, 0x1p-25f}};
        segment.out = few.data();
        not_finite = 0;
        cuda::Results(segment).store(quad, first, rest);
        CHECK((not_finite == 0) == from_float32(quad.v, std::min(rest, 4u), dtype, wanted.data() + first));
        CHECK(few == wanted);
        const cuda::Quad<float> back = elements.quad<cuda::Exact>(15360 + first, rest);
        for (std::uint32_t k = 0; k < 4; ++k) CHECK(back[k] == (k < rest ? values[15360 + first + k] : 0.0f));
      }
    }
  }
}

TEST_CASE("cuda operations: the random numbers are those of the CPU") {
  for (const std::uint64_t first : {0ull, 1ull, 2ull, 3ull, 0x3ffffffffull, 0xfffffffffffffff0ull}) {
    const RandomStream cpu{0x123456789abcdef, 0xfedcba9876543210, 42, first};
    const cuda::RandomStream gpu(cpu.seed, cpu.gradient, cpu.step, cpu.first);
    for (std::uint64_t i = 0; i < 136; i += 4) {
      const auto quad = cuda::random_quad(gpu, i, 5);
      for (std::uint32_t k = 0; k < 4; ++k) {
        const std::uint32_t expected = random_bits(cpu, i + k, 5);
        CHECK(quad[k] == expected);
        CHECK(cuda::random_bits(gpu, i + k, 5) == expected);
        CHECK(cuda::uniform(expected) == uniform_from(expected));
      }
    }
  }
}

TEST_CASE("cuda operations: extremes in any order are the interpreter's, also of zeros with a sign") {
  std::mt19937 random(3);
  const std::vector<float> few = {0.0f, -0.0f, 1.0f, -1.0f, std::nanf(""), 0.0f, -0.0f};
  for (int round = 0; round < 400; ++round) {
    std::vector<float> elements(1 + random() % (round < 20 ? 70'000 : 70));
    for (float& each : elements) each = few[random() % (round % 2 == 0 ? 2 : few.size())];
    std::vector<Scalar> scalars;
    for (const float each : elements) scalars.push_back(Scalar::of_float(each));
    CHECK(reduced_backwards<cuda::Maximum<float>>(elements) == reduced_by(Reducer::kMax, kFloatType, scalars));
    CHECK(reduced_backwards<cuda::Minimum<float>>(elements) == reduced_by(Reducer::kMin, kFloatType, scalars));
    CHECK(reduced_backwards<cuda::Magnitude>(elements) == reduced_by(Reducer::kMagnitude, kFloatType, scalars));
    CHECK(reduced_backwards<cuda::Count>(elements) == reduced_by(Reducer::kCount, kFloatType, scalars));
  }
  const std::vector<float> all = floats();
  std::vector<Scalar> scalars;
  std::vector<std::int32_t> whole;
  for (const float each : all) scalars.push_back(Scalar::of_float(each)), whole.push_back(scalars.back().as_int());
  CHECK(reduced_backwards<cuda::Minimum<float>>(all) == reduced_by(Reducer::kMin, kFloatType, scalars));
  CHECK(reduced_backwards<cuda::Minimum<std::int32_t>>(whole) == reduced_by(Reducer::kMin, kIntType, scalars));
  CHECK(reduced_backwards<cuda::Maximum<std::int32_t>>(whole) == reduced_by(Reducer::kMax, kIntType, scalars));
  CHECK(reduced_backwards<cuda::IntegerSum<std::int32_t>>(whole) == reduced_by(Reducer::kSum, kIntType, scalars));
}

TEST_CASE("cuda operations: a common multiple is exact, or zero where a tile would be too large") {
  CHECK(cuda::common_multiple(4096, 48) == 12288u);
  CHECK(cuda::common_multiple(12288, 5) == 61440u);
  CHECK(cuda::common_multiple(4096, 65521) == 4096u * 65521u);
  CHECK(cuda::common_multiple(cuda::kMostTileElements, 8192) == cuda::kMostTileElements);
  CHECK(cuda::common_multiple(cuda::kMostTileElements, 3) == 0u);
  CHECK(cuda::common_multiple(4096 * 17, 61681) == 0u);  // 2^32 + 4096
  CHECK(cuda::common_multiple(0, 5) == 0u);
}

}  // namespace casync::compll
