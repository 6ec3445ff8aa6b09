// SPDX-License-Identifier: Apache-2.0
//
// Payloads that nobody encoded: they are refused, or decode to something within the gradient.
#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/generated_codec.h"
#include "compll/codec/merge_whole.h"
#include "compll/codec/written.h"
#include "tests/compll/codecs/promises.h"
#include "tests/compll/codecs/sparse.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll {
namespace {

constexpr Elements kElements = 40;
constexpr float kGuard = -123456.0f;
constexpr Elements kGuards = 64;

/// Returns true if the codec's payloads say where elements belong, each place as it is.
bool has_places(const std::string& name) {
  const std::vector<Section> sections = from_source(name).program->sections;
  return std::any_of(sections.begin(), sections.end(), [](const Section& section) {
    return section.name == "place" && section.type.element == kUintType && section.coding == Coding::kPlain;
  });
}

std::vector<std::string> names_with_places() {
  std::vector<std::string> names = written_names();
  std::erase_if(names, [](const std::string& name) { return !has_places(name); });
  REQUIRE(names.size() > 5);
  return names;
}

bool takes(const std::string& name, const std::string& parameter) {
  const std::vector<ProgramParameter> all = from_source(name).program->parameters;
  return std::any_of(all.begin(), all.end(), [&](const ProgramParameter& each) { return each.name == parameter; });
}

Parameters many(const std::string& name) {
  if (name == "threshold_coded") return {{"tau", 0.5}};
  if (name == "threshold" || name == "adacomp") return {{"capacity", 0.5}};
  if (name == "randomk" || name == "subsampling") return {{"ratio", 0.5}, {"run", 3}};
  return takes(name, "ratio") ? Parameters{{"ratio", 0.5}} : Parameters{};
}

/// The codec as it is compiled; null where it is not.
std::unique_ptr<Codec> generated_of(const std::string& name) {
  for (const GeneratedCodec* codec : written_codecs()) {
    if (codec->declares.name == name) return make_generated_codec(*codec, many(name)).value();
  }
  return nullptr;
}

/// The gradient between guards, in memory of exactly that size.
struct Guarded {
  std::vector<float> memory = std::vector<float>(kElements + 2 * kGuards, kGuard);

  float* gradient() { return memory.data() + kGuards; }
  bool untouched() const {
    const auto is_guard = [](float value) { return value == kGuard; };
    return std::all_of(memory.begin(), memory.begin() + kGuards, is_guard) &&
           std::all_of(memory.end() - kGuards, memory.end(), is_guard);
  }
};

/// Decodes, adds and merges a payload that `check` accepts, the latter as by decoding and adding. Returns true if
/// nothing next to the outputs was written.
bool stays_inside(const Codec& codec, const std::vector<std::byte>& bytes, std::vector<float>* given = nullptr) {
  const std::vector<std::byte> payload(bytes);  // of exactly its size, for the sanitizers
  const ConstView view(payload.data(), payload.size());
  if (!codec.check(view, kElements).is_ok()) return true;
  Guarded decoded, added;
  std::fill_n(added.gradient(), kElements, 0.0f);
  codec.decode(view, kElements, decoded.gradient());
  codec.decode_add(view, kElements, added.gradient());
  if (given != nullptr) given->assign(decoded.gradient(), decoded.gradient() + kElements);
  const std::array<Contribution, 2> both{{{view, nullptr}, {view, nullptr}}};
  const std::size_t states = std::max(codec.info().states, 1u) * kElements;
  std::vector<float> kept(states), kept_meant(states);
  std::vector<std::byte> merged(codec.encoded_bound(kElements)), meant(merged);
  const Encoded made = codec.merge(both, kElements, 1, codec, {nullptr, kept.data(), kElements}, {}, merged.data());
  merge_whole(codec, both, kElements, 1, codec, {nullptr, kept_meant.data(), kElements}, {}, meant.data());
  CHECK(merged == meant);
  CHECK(std::memcmp(kept.data(), kept_meant.data(), states * sizeof(float)) == 0);
  if (codec.info().has_result) {
    codec.result(decoded.gradient(), kElements, {nullptr, kept.data(), kElements}, {}, decoded.gradient());
  }
  return decoded.untouched() && added.untouched() && (made.size == merged.size() || size_varies(codec)) &&
         codec.check({merged.data(), made.size}, kElements).is_ok();
}

bool same_numbers(std::span<const float> a, std::span<const float> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

/// The same of the interpreted codec and of the compiled one, and that both say and make the same of it.
void check_inside(const Written& written, const Codec* generated, const std::vector<std::byte>& payload) {
  std::vector<float> meant, made;
  REQUIRE(stays_inside(*written.codec, payload, &meant));
  if (generated == nullptr) return;
  REQUIRE(stays_inside(*generated, payload, &made));
  REQUIRE(same_numbers(meant, made));
}

std::vector<std::byte> with_word(std::vector<std::byte> payload, Bytes at, std::uint32_t word) {
  std::memcpy(payload.data() + at, &word, sizeof word);
  return payload;
}

std::vector<float> decoded(const Codec& codec, const std::vector<std::byte>& payload) {
  std::vector<float> out(kElements);
  codec.decode({payload.data(), payload.size()}, kElements, out.data());
  return out;
}

}  // namespace

TEST_CASE("hostile: flipped bits of the header and the padding are refused, all others decode inside") {
  for (const std::string& name : written_names()) {
    const Written written = from_source(name, many(name));
    const std::unique_ptr<Codec> generated = generated_of(name);
    const Coded coded = encode(*written.codec, laplace(kElements, 1));
    std::size_t refused = 0;
    for (std::size_t bit = 0; bit < 8 * coded.payload.size(); ++bit) {
      INFO(name << ", bit " << bit);
      std::vector<std::byte> flipped = coded.payload;
      flipped[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
      const bool accepted = written.codec->check({flipped.data(), flipped.size()}, kElements).is_ok();
      refused += !accepted;
      // The first bit of the flags says only that something is not finite.
      if (bit / 8 < 16 && bit != 8 * 4) REQUIRE_FALSE(accepted);
      check_inside(written, generated.get(), flipped);
    }
    INFO(name);
    CHECK(refused >= 8 * 16 - 1);
  }
}

TEST_CASE("hostile: payloads that are cut off anywhere, or go on, are refused with both sizes") {
  for (const std::string& name : written_names()) {
    INFO(name);
    const Written written = from_source(name, many(name));
    const std::unique_ptr<Codec> generated = generated_of(name);
    const Coded coded = encode(*written.codec, laplace(kElements, 1));
    for (std::size_t size = 0; size <= coded.payload.size() + 20; ++size) {
      if (size == coded.payload.size()) continue;
      std::vector<std::byte> other(size);
      std::copy_n(coded.payload.begin(), std::min(size, coded.payload.size()), other.begin());
      const Status status = written.codec->check({other.data(), other.size()}, kElements);
      if (generated != nullptr)
        REQUIRE(generated->check({other.data(), other.size()}, kElements).text() == status.text());
      REQUIRE(status.code() == StatusCode::kDataLoss);
      if (size_varies(*written.codec)) continue;  // any size up to the bound may be right
      REQUIRE_THAT(status.message(), Catch::Contains(std::to_string(size)));
      REQUIRE_THAT(status.message(), Catch::Contains(std::to_string(coded.payload.size())));
    }
  }
}

TEST_CASE("hostile: places outside of the gradient are places of none") {
  for (const std::string& name : names_with_places()) {
    const Written written = from_source(name, many(name));
    const std::unique_ptr<Codec> generated = generated_of(name);
    const Coded coded = encode(*written.codec, laplace(kElements, 1));
    const SectionPlace section = section_of(written, "place", kElements);
    const std::vector<std::uint32_t> places = integers_in(written, coded, "place", kElements);
    const std::vector<float> before = decoded(*written.codec, coded.payload);
    for (std::size_t i = 0; i < section.count; ++i) {
      for (const std::uint32_t outside :
           {40u, 41u, 64u, 0x0fffffffu, 0x3fffffffu, 0x40000000u, 0x7fffffffu, 0x80000000u, 0xffffffd8u, 0xffffffffu}) {
        INFO(name << ", place " << i << " is " << outside);
        const std::vector<std::byte> wrong = with_word(coded.payload, section.begin + 4 * i, outside);
        check_inside(written, generated.get(), wrong);
        std::vector<float> expected = before;
        if (places[i] != kNoPlace) expected[places[i]] = 0;
        REQUIRE(same_bytes(decoded(*written.codec, wrong), expected));
      }
    }
  }
}

TEST_CASE("hostile: a place that occurs twice has one of its values, and nothing else changes") {
  for (const std::string& name : names_with_places()) {
    INFO(name);
    const Written written = from_source(name, many(name));
    const std::unique_ptr<Codec> generated = generated_of(name);
    const Coded coded = encode(*written.codec, scaled(laplace(kElements, 2), 10));
    const SectionPlace section = section_of(written, "place", kElements);
    const std::vector<std::uint32_t> places = integers_in(written, coded, "place", kElements);
    REQUIRE(count_of(places) >= 2);
    const std::vector<std::byte> twice = with_word(coded.payload, section.begin + 4, places[0]);
    check_inside(written, generated.get(), twice);
    const std::vector<float> before = decoded(*written.codec, coded.payload), after = decoded(*written.codec, twice);
    CHECK((after[places[0]] == before[places[0]] || after[places[0]] == before[places[1]]));
    CHECK(after[places[1]] == 0);
    for (Elements i = 0; i < kElements; ++i) CHECK((i == places[0] || i == places[1] || after[i] == before[i]));
    std::vector<std::byte> all = coded.payload;
    for (std::size_t i = 0; i < section.count; ++i) all = with_word(all, section.begin + 4 * i, places[0]);
    check_inside(written, generated.get(), all);
    for (Elements i = 0; i < kElements; ++i) CHECK((i == places[0] || decoded(*written.codec, all)[i] == 0));
  }
}

TEST_CASE("hostile: values that are not finite decode to what they are, at their place alone") {
  for (const char* name : {"topk", "threshold", "graddrop", "dgc", "mstopk", "ef21", "randomk"}) {
    const Written written = from_source(name, many(name));
    const std::unique_ptr<Codec> generated = generated_of(name);
    const Coded coded = encode(*written.codec, laplace(kElements, 3));
    const SectionPlace section = section_of(written, "value", kElements);
    const std::vector<float> before = decoded(*written.codec, coded.payload);
    for (const std::uint32_t special : {0x7fc00000u, 0xffc00001u, 0x7f800000u, 0xff800000u}) {
      INFO(name << ", " << std::hex << special);
      const std::vector<std::byte> wrong = with_word(coded.payload, section.begin, special);
      check_inside(written, generated.get(), wrong);
      const std::vector<float> after = decoded(*written.codec, wrong);
      std::size_t changed_at = 0;
      for (Elements i = 0; i < kElements; ++i) changed_at += !same_bytes({&after[i], 1}, {&before[i], 1});
      CHECK(changed_at == 1);
    }
  }
}

TEST_CASE("hostile: sections of noise decode inside, whatever they say") {
  std::mt19937 random(7);
  for (const std::string& name : written_names()) {
    INFO(name);
    const Written written = from_source(name, many(name));
    if (size_varies(*written.codec)) continue;  // of noise hardly any is accepted: tests/compll/coded
    const std::unique_ptr<Codec> generated = generated_of(name);
    const Coded coded = encode(*written.codec, laplace(kElements, 4));
    int accepted = 0;
    for (int trial = 0; trial < 200; ++trial) {
      std::vector<std::byte> noise = coded.payload;
      for (const Section& section : written.program->sections) {
        const SectionPlace place = section_of(written, section.name, kElements);
        for (Bytes at = place.begin; at < place.end(); ++at) noise[at] = static_cast<std::byte>(random());
        const unsigned used = place.count * place.bits % 8;  // bits of the last byte
        if (used != 0) noise[place.end() - 1] &= static_cast<std::byte>((1u << used) - 1);
      }
      accepted += written.codec->check({noise.data(), noise.size()}, kElements).is_ok();
      check_inside(written, generated.get(), noise);
    }
    CHECK(accepted == 200);
  }
}

TEST_CASE("codecs: the sizes of 1001 elements are those that places, values and states come to") {
  const std::map<std::string, Bytes> bytes = {{"topk", 16 + 48 + 44},  // 11 places, 11 values
                                              {"randomk", 16 + 16 + 256},      {"threshold", 16 + 208 + 204},
                                              {"graddrop", 16 + 48 + 44},      {"dgc", 16 + 16 + 8},
                                              {"mstopk", 16 + 48 + 44},        {"adacomp", 16 + 16 + 416 + 13},
                                              {"adaq", 16 + 16 + 16 + 48 + 2}, {"sbc", 16 + 16 + 44},
                                              {"stc", 16 + 16 + 48 + 2},       {"ecqsgd", 16 + 32 + 501},
                                              {"diana", 16 + 32 + 251},        {"ef21", 16 + 48 + 44},
                                              {"rht4", 16 + 32 + 501},         {"twobit", 16 + 251},
                                              {"subsampling", 16 + 16 + 256},  {"topk_lloyd", 16 + 16 + 16 + 48 + 3},
                                              {"sketch_median", 16 + 16 + 96}};
  const std::map<std::string, std::uint32_t> states = {{"topk", 1}, {"dgc", 2},   {"adacomp", 1}, {"ecqsgd", 1},
                                                       {"ef21", 2}, {"diana", 1}, {"randomk", 1}};
  for (const auto& [name, size] : bytes) {
    INFO(name);
    CHECK(from_source(name).codec->encoded_bound(1001) == size);
  }
  for (const auto& [name, count] : states) {
    INFO(name);
    CHECK(from_source(name).codec->info().states == count);
    CHECK(from_source(name).codec->info().has_result == (name == "ef21" || name == "diana"));
  }
}

}  // namespace casync::compll
