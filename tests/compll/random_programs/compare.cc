// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/random_programs/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/coded/coded_section.h"
#include "compll/interpreter/bit_sections.h"
#include "compll/lang/element_count.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll::test {
namespace {

using Floats = std::vector<float>;
using Payload = std::vector<std::byte>;

constexpr Elements kLarge = 4000;  // the interpreter takes most of its time for these, so it runs one input of them

bool same(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b)); }

std::string place_of_difference(const std::string& what, const Floats& is, const Floats& should, bool zeros_differ) {
  for (std::size_t i = 0; i < should.size(); ++i) {
    if (same(is[i], should[i]) || (!zeros_differ && is[i] == should[i])) continue;
    return what + ": element " + std::to_string(i) + " is " + std::to_string(is[i]) + ", expected " +
           std::to_string(should[i]);
  }
  return "";
}

/// One encoding and what it keeps.
struct Made {
  Payload payload;
  Floats kept;
  bool finite = true;
};

class Comparison {
 public:
  Comparison(const Program& program, const Codec& meaning, const Codec& compiled, Elements n, std::uint64_t seed)
      : program_(program), meaning_(meaning), compiled_(compiled), n_(n), seed_(seed) {}

  std::string run(const Floats& first, const Floats& second) {
    if (compiled_.encoded_bound(n_) != meaning_.encoded_bound(n_)) return "the size of a payload";
    Made is = begun(), should = begun();
    const Floats* inputs[] = {&first, &second};
    for (std::uint32_t step = 0; step < 2; ++step) {
      const Made before = should;
      encode(compiled_, *inputs[step], before.kept, step, is);
      encode(meaning_, *inputs[step], before.kept, step, should);
      if (std::string found = compared("encode, step " + std::to_string(step), is, should); !found.empty())
        return found;
      if (std::string found = decoded(should); !found.empty()) return found;
      if (std::string found = merged(should, *inputs[step], before.kept); !found.empty()) return found;
      if (!should.finite) should.kept = before.kept;
    }
    return "";
  }

 private:
  std::size_t arrays() const { return std::max<std::size_t>(meaning_.info().states, 1); }

  Made begun() const {
    Made made;
    made.kept.assign(arrays() * n_, 0.0f);
    for (std::size_t i = 0; i < meaning_.info().state_initial.size(); ++i) {
      std::fill_n(made.kept.begin() + static_cast<std::ptrdiff_t>(i * n_), n_, meaning_.info().state_initial[i]);
    }
    return made;
  }
  EncodeContext context(std::uint32_t step) const { return {seed_, 7, step, seed_ % 3 == 0 ? 0 : seed_ % 1000}; }
  /// Filled with something, such that bytes that nobody writes differ.
  Payload memory(const Codec& codec) const {
    return Payload(codec.encoded_bound(n_), &codec == &compiled_ ? std::byte{0xa5} : std::byte{0x5a});
  }

  void encode(const Codec& codec, const Floats& in, const Floats& before, std::uint32_t step, Made& made) const {
    made.payload = memory(codec);
    made.kept.assign(arrays() * n_, -77.0f);
    const Encoded encoded =
        codec.encode(in.data(), n_, {before.data(), made.kept.data(), n_}, context(step), made.payload.data());
    made.finite = encoded.finite;
    made.payload.resize(encoded.size);
  }

  std::string compared(const std::string& what, const Made& is, const Made& should) const {
    if (is.finite != should.finite) return what + ": one of them says that all is finite";
    if (std::string found = payload_difference(is.payload, should.payload); !found.empty()) return what + ": " + found;
    return place_of_difference(what + ", kept", is.kept, should.kept, true);
  }

  std::string payload_difference(const Payload& is, const Payload& should) const {
    if (is == should) return "";
    if (!std::equal(is.begin(), is.begin() + kHeaderBytes, should.begin())) return "the header";
    if (Status status = compiled_.check({is.data(), is.size()}, n_); !status) return status.message();
    const Payload plain = without_codes(is), plain_meant = without_codes(should);
    SectionPlaces at;
    for (const Section& section : program_.sections) {
      at.add(section.type.element.bits, element_count(program_, section.type, values(), n_));
    }
    for (std::size_t i = 0; i < program_.sections.size(); ++i) {
      const ScalarType type = program_.sections[i].type.element;
      const std::vector<Scalar> a = read_section(at[i], type, {plain.data(), plain.size()}),
                                b = read_section(at[i], type, {plain_meant.data(), plain_meant.size()});
      for (std::size_t k = 0; k < a.size(); ++k) {
        const double x = a[k].as_number(type), y = b[k].as_number(type);
        if ((std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y))) continue;
        return "section " + std::to_string(i) + " (" + program_.sections[i].name + "), entry " + std::to_string(k) +
               " is " + std::to_string(x) + ", expected " + std::to_string(y);
      }
    }
    return "";
  }
  /// The payload as a program without codings has it.
  Payload without_codes(const Payload& payload) const {
    const PayloadCoding* const coding = coding_of(meaning_);
    if (coding == nullptr) return payload;
    const SectionPlaces at = coding->places(n_);
    Payload plain(coding->plain().encoded_bound(n_));
    std::copy_n(payload.begin(), kHeaderBytes, plain.begin());
    Bytes begin = kHeaderBytes;
    for (std::size_t i = 0; i < at.all().size(); ++i) {
      begin = round_up(begin, kSectionAlignment);
      const std::byte* const from = payload.data() + begin;
      std::byte* const to = plain.data() + at[i].begin;
      const CodedElements section{coding->codings()[i], at[i].bits, at[i].count};
      if (section.coding == Coding::kPlain) {
        std::copy_n(from, at[i].bytes(), to);
        begin += at[i].bytes();
      } else {
        read_coded_section(section, from, section.count, to);
        begin += coded_section_size(section, from);
      }
    }
    return plain;
  }
  std::span<const double> values() const { return std::span(meaning_.info().values).first(program_.parameters.size()); }

  std::string decoded(const Made& made) const {
    const ConstView code{made.payload.data(), made.payload.size()};
    if (Status status = compiled_.check(code, n_); !status) return "check: " + status.message();
    Floats is(n_, 3.0f), should(n_, 4.0f);
    compiled_.decode(code, n_, is.data());
    meaning_.decode(code, n_, should.data());
    if (std::string found = place_of_difference("decode", is, should, true); !found.empty()) return found;
    const Floats decoded = should;
    is = should = gaussian(n_, static_cast<std::uint32_t>(seed_));
    compiled_.decode_add(code, n_, is.data());
    meaning_.decode_add(code, n_, should.data());
    if (std::string found = place_of_difference("decode onto", is, should, false); !found.empty()) return found;
    return meaning_.info().has_result ? result(decoded) : "";
  }

  std::string result(const Floats& decoded) const {
    const Made before = begun();
    Floats is(n_, 3.0f), should(n_, 4.0f), is_kept(before.kept.size(), 5.0f), should_kept(before.kept.size(), 5.0f);
    compiled_.result(decoded.data(), n_, {before.kept.data(), is_kept.data(), n_}, context(9), is.data());
    meaning_.result(decoded.data(), n_, {before.kept.data(), should_kept.data(), n_}, context(9), should.data());
    if (std::string found = place_of_difference("result", is, should, true); !found.empty()) return found;
    return place_of_difference("result, kept", is_kept, should_kept, true);
  }

  std::string merged(const Made& one, const Floats& raw, const Floats& before) const {
    const ConstView code{one.payload.data(), one.payload.size()};
    const Contribution terms[] = {{code, nullptr}, {{}, raw.data()}, {code, nullptr}};
    const std::size_t count = seed_ % 2 == 0 ? 3 : 1;
    const auto merge = [&](const Codec& codec) {
      Made made{memory(codec), Floats(arrays() * n_, -77.0f)};
      const Encoded merged = codec.merge({terms, count}, n_, 0.5f, codec, {before.data(), made.kept.data(), n_},
                                         context(5), made.payload.data());
      made.finite = merged.finite;
      made.payload.resize(merged.size);
      return made;
    };
    return compared("merge", merge(compiled_), merge(meaning_));
  }

  const Program& program_;
  const Codec &meaning_, &compiled_;
  const Elements n_;
  const std::uint64_t seed_;
};

/// With zeros of both signs, and what is hardly a number.
Floats with_extremes(Floats values, std::uint64_t seed) {
  constexpr float kExtremes[] = {0.0f,
                                 -0.0f,
                                 1e30f,
                                 -1e-40f,
                                 65520.0f,
                                 std::numeric_limits<float>::infinity(),
                                 std::numeric_limits<float>::quiet_NaN()};
  const std::size_t kinds = seed % 4 == 0 ? 7 : 5;
  for (std::size_t i = seed % 7; i < values.size(); i += 7) values[i] = kExtremes[(i / 7 + seed) % kinds];
  return values;
}

}  // namespace

std::string difference(const Program& program, const Codec& meaning, const Codec& compiled, std::uint64_t seed,
                       Elements most) {
  const Elements large[] = {4095, 4096, 4097, 5003, 8192, 9001};
  std::vector<Elements> sizes = {0, 1, 2, 3, 17, 64, 100 + seed % 33, 333 + seed % 700, large[seed % 6]};
  std::erase_if(sizes, [&](Elements n) { return n > most; });
  for (const Elements n : sizes) {
    const auto first = static_cast<std::uint32_t>(seed * 2);
    const Floats smooth = n % 2 == 0 ? gaussian(n, first) : laplace(n, first), other = laplace(n, first + 1);
    for (const bool extremes : {false, true}) {
      if (n > kLarge && extremes != (seed % 2 == 0)) continue;
      Comparison comparison(program, meaning, compiled, n, seed);
      const std::string found =
          extremes ? comparison.run(with_extremes(smooth, seed), other) : comparison.run(smooth, other);
      if (!found.empty()) {
        return std::to_string(n) + " elements" + (extremes ? " with extremes, " : ", ") + found;
      }
    }
  }
  return "";
}

}  // namespace casync::compll::test
