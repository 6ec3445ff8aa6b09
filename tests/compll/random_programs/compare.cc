// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/random_programs/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/coded/coded_section.h"
#include "compll/interpreter/bit_sections.h"
#include "compll/lang/element_count.h"
#include "tests/compll/support/compare_steps.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll::test {
namespace {

using Floats = std::vector<float>;

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

/// The payload as a program without codings has it.
Payload without_codes(const Codec& meaning, const Payload& payload, Elements n) {
  const PayloadCoding* const coding = coding_of(meaning);
  if (coding == nullptr) return payload;
  const SectionPlaces at = coding->places(n);
  Payload plain(coding->plain().encoded_bound(n));
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
    const std::string found = payload_difference(program_, meaning_, n_, is.payload, should.payload);
    if (!found.empty()) return what + ": " + found;
    return place_of_difference(what + ", kept", is.kept, should.kept, true);
  }

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
    Made before = begun();
    if (seed_ % 3 != 0) before.kept = laplace(before.kept.size(), static_cast<std::uint32_t>(seed_ + 1));
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

std::string payload_difference(const Program& program, const Codec& meaning, Elements n, const Payload& is,
                               const Payload& should) {
  if (is == should) return "";
  if (!std::equal(is.begin(), is.begin() + kHeaderBytes, should.begin())) return "the header";
  if (Status status = meaning.check({is.data(), is.size()}, n); !status) return status.message();
  const Payload plain = without_codes(meaning, is, n), plain_meant = without_codes(meaning, should, n);
  const std::span<const double> values = std::span(meaning.info().values).first(program.parameters.size());
  SectionPlaces at;
  for (const Section& section : program.sections) {
    at.add(section.type.element.bits, element_count(program, section.type, values, n));
  }
  for (std::size_t i = 0; i < program.sections.size(); ++i) {
    const ScalarType type = program.sections[i].type.element;
    const std::vector<Scalar> a = read_section(at[i], type, {plain.data(), plain.size()}),
                              b = read_section(at[i], type, {plain_meant.data(), plain_meant.size()});
    for (std::size_t k = 0; k < a.size(); ++k) {
      const double x = a[k].as_number(type), y = b[k].as_number(type);
      if ((std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y))) continue;
      return "section " + std::to_string(i) + " (" + program.sections[i].name + "), entry " + std::to_string(k) +
             " is " + std::to_string(x) + ", expected " + std::to_string(y);
    }
  }
  return "";
}

std::vector<Elements> random_sizes(std::uint64_t seed) {
  const Elements large[] = {4095, 4096, 4097, 5003, 8192, 9001};
  return {0, 1, 2, 3, 17, 64, 100 + seed % 33, 333 + seed % 700, large[seed % 6]};
}

std::string difference(const Program& program, const Codec& meaning, const Codec& compiled, std::uint64_t seed,
                       std::span<const Elements> sizes) {
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

std::string difference(const RoundsCodec& meaning, const RoundsCodec& compiled, std::uint64_t seed) {
  using Shape = std::pair<Elements, Elements>;
  const Shape small[] = {{0, 0}, {0, 3}, {5, 0}, {1, 1}, {1, 2}, {2, 1}, {3, 2}};
  const Shape middle[] = {{7, 5}, {15, 17}, {31, 33}, {1, 300}, {300, 1}, {64, 9}, {33, 32}};
  const Shape large[] = {{129, 65}, {1, 9001}, {9001, 1}, {5, 1700}, {1700, 5}};
  for (const auto& [rows, columns] : {small[seed % 7], middle[seed / 2 % 7], large[seed % 5]}) {
    const RoundsShape should = meaning.shape(rows, columns), is = compiled.shape(rows, columns);
    std::string found = is.exchanged != should.exchanged ? "the sizes of exchanges"
                        : is.states != should.states     ? "the size of states"
                                                         : steps_differ(meaning, compiled, rows, columns);
    if (!found.empty()) return std::to_string(rows) + " x " + std::to_string(columns) + ", " + found;
  }
  return "";
}

}  // namespace casync::compll::test
