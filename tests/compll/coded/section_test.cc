// SPDX-License-Identifier: Apache-2.0
//
// CodedBytes sections: what is read is what was written, as a reader that goes bit by bit reads it; and of bytes that
// nobody wrote nothing is read that is not there.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <stdexcept>

#include "compll/codec/coded/coded_section.h"
#include "tests/compll/coded/plain_reader.h"

namespace casync::compll {
namespace {

using Values = std::vector<std::uint64_t>;
using CodedBytes = std::vector<std::byte>;

std::vector<std::byte> image_of(const CodedElements& section, const Values& values) {
  std::vector<std::byte> plain(section.plain_bytes());
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (unsigned bit = 0; bit < section.bits; ++bit) {
      const std::size_t at = i * section.bits + bit;
      plain[at / 8] |= static_cast<std::byte>((values[i] >> bit & 1) << (at % 8));
    }
  }
  return plain;
}

CodedBytes written(const CodedElements& section, const Values& values) {
  const Bytes bound = coded_section_bound(section);
  CodedBytes bytes(bound + 32, std::byte{0x5a});
  const Bytes size = write_coded_section(section, image_of(section, values).data(), section.count, bytes.data());
  REQUIRE(size <= bound);
  REQUIRE(std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(bound), bytes.end(),
                      [](std::byte b) { return b == std::byte{0x5a}; }));
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}

/// The elements, as the product reads them from memory of exactly this size; none: they are refused.
std::optional<std::vector<std::byte>> read(const CodedElements& section, const CodedBytes& bytes) {
  const CodedBytes exact(bytes);
  const Result<Bytes> size = check_coded_section(section, {exact.data(), exact.size()});
  if (!size) {
    REQUIRE(size.status().code() == StatusCode::kDataLoss);
    return std::nullopt;
  }
  REQUIRE(*size == coded_section_size(section, exact.data()));
  if (*size != exact.size()) return std::nullopt;  // bytes behind it, which a payload refuses
  std::vector<std::byte> plain(section.plain_bytes() + 8, std::byte{0x5a});
  read_coded_section(section, exact.data(), section.count, plain.data());
  REQUIRE(std::all_of(plain.end() - 8, plain.end(), [](std::byte b) { return b == std::byte{0x5a}; }));
  plain.resize(section.plain_bytes());
  return plain;
}

std::optional<std::vector<std::byte>> plainly(const CodedElements& section, const CodedBytes& bytes) {
  try {
    return image_of(section, plainly_read(section, bytes));
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

enum class Kind { kNoise, kSmall, kFew, kPlaces, kFloats, kSame };

Values values_of(Kind kind, unsigned bits, Elements count, std::mt19937_64& random) {
  const std::uint64_t ones = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  std::normal_distribution<float> normal(0, 1e-3f);
  const std::uint64_t same = random();
  std::uint64_t place = random() % 100;
  Values values;
  for (Elements i = 0; i < count; ++i) {
    std::uint64_t value = random();
    if (kind == Kind::kSmall) value = random() % 2 == 0 ? 0 : random() % 5 - 2;
    if (kind == Kind::kFew) value = random() % 16 == 0 ? value : (same & 0xff) + random() % 3;
    if (kind == Kind::kSame) value = same;
    if (kind == Kind::kPlaces) value = i > count * 3 / 4 ? ~std::uint64_t{0} : place += 1 + random() % 200;
    if (kind == Kind::kFloats) {
      std::uint32_t word;
      const float one = normal(random);
      std::memcpy(&word, &one, sizeof word);
      value = word;
    }
    values.push_back(value & ones);
  }
  return values;
}

struct Case {
  CodedElements section;
  Values values;
};

Case any_case(std::mt19937_64& random) {
  constexpr Coding kCodings[] = {Coding::kPacked, Coding::kPackedFloats, Coding::kRising, Coding::kElias,
                                 Coding::kEliasSigned};
  const Coding coding = kCodings[random() % 5];
  unsigned bits = 1 + static_cast<unsigned>(random() % 32);
  if (coding == Coding::kPackedFloats || coding == Coding::kRising) bits = 32;
  if (coding == Coding::kPacked && random() % 8 == 0) bits = 64;
  const Elements count = random() % 4 != 0 ? random() % 300 : random() % 9000;
  return {{coding, bits, count}, values_of(static_cast<Kind>(random() % 6), bits, count, random)};
}

}  // namespace

TEST_CASE("coded sections: every width, length and kind of elements is read as it was written") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1500; ++i) {
    const auto [section, values] = any_case(random);
    CAPTURE(i, static_cast<int>(section.coding), section.bits, section.count);
    const CodedBytes bytes = written(section, values);
    REQUIRE(read(section, bytes) == image_of(section, values));
    REQUIRE(plainly_read(section, bytes) == values);
  }
}

TEST_CASE("coded sections: equal elements at the end need not be in memory, and need not be read") {
  for (const Coding coding : {Coding::kPacked, Coding::kRising, Coding::kElias}) {
    for (const Elements count : {1u, 4096u, 9000u, 16384u, 20000u}) {
      for (const Elements head : {0u, 1u, 100u, 4095u, 4096u, 4097u, 9000u, 16383u, 20000u}) {
        const CodedElements section{coding, 32, count};
        const Elements different = std::min<Elements>(count, head + 1);
        INFO(static_cast<int>(coding) << ", " << count << " elements, of which " << different << " differ");
        Values values(count, coding == Coding::kRising ? 0xffffffff : 0);
        for (Elements i = 0; i < std::min(head, count); ++i) values[i] = 3 * i + 1;
        const CodedBytes whole = written(section, values);

        std::vector<std::byte> image = image_of(section, values);
        std::fill(image.begin() + static_cast<std::ptrdiff_t>(entries_of_coding(count, different) * 4), image.end(),
                  std::byte{0x5a});
        CodedBytes bytes(coded_section_bound(section));
        bytes.resize(write_coded_section(section, image.data(), different, bytes.data()));
        CHECK((bytes == whole));

        const Elements read = different_in_section(section, whole.data());
        CHECK(read >= different);
        if (coding != Coding::kElias) CHECK(read <= different + 1);
        std::vector<std::byte> plain(ceil_div(read, kCodedBlock) * kCodedBlock * 4, std::byte{0x5a});
        read_coded_section(section, whole.data(), read, plain.data());
        CHECK(std::equal(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(read * 4),
                         image_of(section, values).begin()));
      }
    }
  }
}

TEST_CASE("coded sections: bytes that were changed, cut off or made up are read as the plain reader does, or refused") {
  std::mt19937_64 random(2);
  int refused = 0, accepted = 0;
  for (int i = 0; i < 6000; ++i) {
    const auto [section, values] = any_case(random);
    if (section.count == 0) continue;
    CodedBytes bytes = written(section, values);
    const int how = i % 4;
    if (how == 0) bytes[random() % bytes.size()] ^= static_cast<std::byte>(1u << (random() % 8));
    if (how == 1) bytes.resize(random() % bytes.size());
    if (how == 2) {
      for (std::byte& each : bytes) each = static_cast<std::byte>(random() % (1 + random() % 255));
    }
    if (how == 3) {  // noise in blocks whose sizes are right
      const std::size_t table = 2 * ((section.count + 4095) / 4096);
      for (std::size_t at = table + 1; at < bytes.size(); ++at) bytes[at] = static_cast<std::byte>(random() >> 60);
    }
    CAPTURE(i, how, static_cast<int>(section.coding), section.bits, section.count);
    const auto is = read(section, bytes);
    REQUIRE(is == plainly(section, bytes));
    ++(is ? accepted : refused);
  }
  CHECK(refused > 2000);
  CHECK(accepted > 100);
}

TEST_CASE("coded sections: a section of another number of elements, or with a sum that is wrong, is refused") {
  std::mt19937_64 random(3);
  const CodedBytes floats = written({Coding::kPackedFloats, 32, 5000}, values_of(Kind::kFloats, 32, 5000, random));
  for (const Elements other : {4999u, 4096u, 4095u, 1u}) {
    CHECK_FALSE(read({Coding::kPackedFloats, 32, other}, floats).has_value());
  }
  const CodedBytes numbers = written({Coding::kElias, 32, 5000}, Values(5000, 9));
  for (const Elements other : {4999u, 5001u, 4096u, 8192u, 4095u}) {
    CHECK_FALSE(read({Coding::kElias, 32, other}, numbers).has_value());
  }
  // Ten bytes: coded, eight elements, width 1, the value 7, one escape, the codes, its byte as it is.
  const CodedElements small{Coding::kPacked, 8, 8};
  const auto with_escapes = [](std::uint8_t said, std::uint8_t codes) {
    CodedBytes one;
    for (const int each : {10, 0, 1, 8, 0, 1, 7, int{said}, 0, int{codes}, 8, 42}) one.push_back(std::byte(each));
    return one;
  };
  REQUIRE(read(small, with_escapes(1, 0b100)) == image_of(small, {7, 7, 42, 7, 7, 7, 7, 7}));
  CHECK_FALSE(read(small, with_escapes(1, 0b110)).has_value());
  CHECK_FALSE(read(small, with_escapes(2, 0b100)).has_value());
  CHECK_FALSE(read(small, with_escapes(0, 0)).has_value());
}

TEST_CASE(
    "coded sections: bits of a Gaussian's floats, of places at random and of small numbers are near the entropy") {
  std::mt19937_64 random(4);
  const Elements count = 1 << 17;
  const auto bits_of = [&](const CodedElements& section, const Values& values) {
    return 8.0 * static_cast<double>(written(section, values).size()) / static_cast<double>(section.count);
  };
  const CodedElements floats{Coding::kPackedFloats, 32, count};
  Values of_floats = values_of(Kind::kFloats, 32, count, random), of_bf16 = of_floats;
  for (std::uint64_t& each : of_bf16) each &= 0xffff0000;
  CHECK(bits_of(floats, of_floats) < 27);  // 24 of noise, 2.6 of the exponent
  CHECK(bits_of(floats, of_bf16) < 11);    // 8 of noise
  CHECK(bits_of(floats, Values(count, 0)) < 0.05);
  Values places;
  for (std::uint64_t at = 0; places.size() < 20000; ++at) {
    if (random() % 100 == 0) places.push_back(at);
  }
  CHECK(bits_of({Coding::kRising, 32, places.size()}, places) < 8.2);  // 8.08 by its entropy
  Values none(20000, 0xffffffff);
  CHECK(bits_of({Coding::kRising, 32, none.size()}, none) < 0.02);
  Values small;
  for (Elements i = 0; i < count; ++i) small.push_back(random() % 4 != 0 ? 0 : random() % 2 == 0 ? 1 : 255);
  CHECK(bits_of({Coding::kEliasSigned, 8, count}, small) < 1.52);
}

}  // namespace casync::compll
