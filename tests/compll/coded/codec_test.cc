// SPDX-License-Identifier: Apache-2.0
//
// Codecs whose payloads have the size that the gradient asks for.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/merge_whole.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/programs.h"

namespace casync::compll {
namespace {

const char* const kCoded[] = {"atomo", "laq", "lossless", "threshold_coded", "topk_coded", "qsgd_elias"};

double bits_of(const Coded& coded, double elements) {
  return 8.0 * static_cast<double>(coded.payload.size()) / elements;
}

std::vector<float> rounded_to_bf16(std::vector<float> x) {
  for (float& value : x) {
    std::uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    word &= 0xffff0000;
    std::memcpy(&value, &word, sizeof word);
  }
  return x;
}

Status checked(const Codec& codec, const std::vector<std::byte>& payload, Elements n) {
  const std::vector<std::byte> exact(payload);
  return codec.check({exact.data(), exact.size()}, n);
}

}  // namespace

TEST_CASE("coded: the codecs with a size that varies are these, and say what a Gaussian takes") {
  for (const std::string& name : codec_names()) {
    INFO(name);
    const auto codec = codec_of(name);
    CHECK(size_varies(*codec) == (std::find(std::begin(kCoded), std::end(kCoded), name) != std::end(kCoded)));
  }
  const Elements n = 1 << 16;
  for (const char* name : kCoded) {
    INFO(name);
    const auto codec = codec_of(name);
    const Coded coded = encode(*codec, gaussian(n, 1));
    const double apart = name == std::string("atomo") ? 0.2 : 0.15;  // it draws how many elements it sends
    CHECK(bits_of(coded, n) == Approx(codec->info().bits_per_element).epsilon(apart));
    CHECK(coded.payload.size() < codec->encoded_bound(n));
  }
}

TEST_CASE("coded: compiled and interpreted they write the same bytes, and what they say") {
  for (const char* name : kCoded) {
    const Written written = from_source(name);
    const auto generated = codec_of(name);
    CHECK(generated->info().bits_per_element == written.codec->info().bits_per_element);
    for (const Elements n : {0u, 1u, 40u, 4099u, 9000u}) {
      for (const Input& input : inputs(n)) {
        INFO(name << ", " << input.name << ", n " << n);
        const Coded a = encode(*written.codec, input.values), b = encode(*generated, input.values);
        CHECK((a.payload == b.payload));
        CHECK(same_bytes(decode(*written.codec, a, n), decode(*generated, b, n)));
        CHECK(checked(*generated, a.payload, n).text() == "OK");
      }
    }
  }
}

TEST_CASE("coded: lossless gives every bit back, NaN and minus zero too, and is 1.3 times smaller than bfloat16") {
  const auto codec = codec_of("lossless");
  for (const Elements n : {0u, 1u, 4095u, 4096u, 4097u, 20000u}) {
    for (const Input& input : inputs(n)) {
      INFO(input.name << ", n " << n);
      CHECK(same_bytes(round_trip(*codec, input.values), input.values));
    }
  }
  const Elements n = 1 << 18;
  const Coded coded = encode(*codec, rounded_to_bf16(gaussian(n, 1)));
  CHECK(2.0 * static_cast<double>(n) / static_cast<double>(coded.payload.size()) > 1.45);
  CHECK(bits_of(encode(*codec, gaussian(n, 2)), n) < 27);
  CHECK(encode(*codec, std::vector<float>(n, 0.0f)).payload.size() < n / 100);
}

TEST_CASE("coded: an element of the largest percent takes at most 10.5 bits, its place included") {
  const Elements n = 1 << 20;
  const auto codec = codec_of("topk_coded", {{"ratio", 0.01}});
  const Coded coded = encode(*codec, gaussian(n, 1));
  CHECK(bits_of(coded, 0.01 * n) < 10.5);
  CHECK(bits_of(coded, 0.01 * n) > 10);
  // The same elements as without codes, and the same residual.
  const Coded plain = encode(*codec_of("topk_lloyd", {{"ratio", 0.01}}), gaussian(n, 1));
  CHECK(same_bytes(decode(*codec, coded, n), round_trip(*codec_of("topk_lloyd", {{"ratio", 0.01}}), gaussian(n, 1))));
  CHECK(same_bytes(coded.residual, plain.residual));
}

TEST_CASE("coded: a threshold that few elements exceed makes a payload of those few") {
  const Elements n = 1 << 18;
  const auto codec = codec_of("threshold_coded", {{"tau", 3}});
  const std::vector<float> x = gaussian(n, 1);
  const auto above = static_cast<double>(std::count_if(x.begin(), x.end(), [](float v) { return std::fabs(v) > 3; }));
  REQUIRE(above > 500);
  CHECK(bits_of(encode(*codec, x), above) <
        52);  // 32 of its value, 10 of its place, and two bytes of the table for 4096
  CHECK(encode(*codec, std::vector<float>(n, 1.0f)).payload.size() < 16 + n / 200);
  const std::vector<float> given = round_trip(*codec, x);
  for (Elements i = 0; i < n; ++i) REQUIRE(given[i] == (std::fabs(x[i]) > 3 ? x[i] : 0));
}

TEST_CASE("coded: QSGD with as many steps as the root of a block takes the 2.8 bits that its paper proves") {
  const Elements n = 1 << 18;
  CHECK(bits_of(encode(*codec_of("qsgd_elias"), gaussian(n, 1)), n) < 2.8);
}

TEST_CASE("coded: exchange_elias gives whole numbers back, in the bits of Elias' code, and sums of codes exactly") {
  const Elements n = 20'000;
  const auto codec = codec_of("exchange_elias");
  std::vector<float> levels[3];
  for (std::size_t k = 0; k < 3; ++k) {
    for (const float x : gaussian(n, static_cast<std::uint32_t>(k))) levels[k].push_back(std::trunc(0.6f * x) + 0.0f);
  }
  levels[2][5] = 8'388'608, levels[2][6] = -8'388'607;
  for (const std::vector<float>& each : levels) CHECK(round_trip(*codec, each) == each);
  double bits = 0;
  for (const float x : levels[0]) bits += x == 0 ? 1 : std::abs(x) == 1 ? 3 : 5;
  CHECK(8.0 * static_cast<double>(encode(*codec, levels[0]).payload.size()) < bits + 24.0 * (n / 4096.0 + 1) + 128 * 2);
  const Coded one = encode(*codec, levels[0]), other = encode(*codec, levels[1]);
  const Contribution terms[] = {{one.view()}, {other.view()}, {{}, levels[2].data()}};
  Coded sum{std::vector<std::byte>(codec->encoded_bound(n)), {}};
  sum.payload.resize(codec->merge(terms, n, 1, *codec, {}, {}, sum.payload.data()).size);
  std::vector<float> wanted(n);
  for (Elements i = 0; i < n; ++i) wanted[i] = levels[0][i] + levels[1][i] + levels[2][i];
  CHECK(decode(*codec, sum, n) == wanted);
  CHECK(round_trip(*codec, std::vector<float>{0.5f, 1.5f, -2.4f, std::nanf("")}) == std::vector<float>{0, 2, -2, 0});
  CHECK_FALSE(encode(*codec, std::vector<float>{1, std::nanf("")}).finite);
}

TEST_CASE("coded: lists that end anywhere in a block, and what is left of them, are those of the interpreter") {
  const Elements n = 20000;
  const Parameters parameters = {{"tau", 0.5}};
  const Written written = from_source("threshold_coded", parameters);
  const auto generated = codec_of("threshold_coded", parameters);
  const auto with_elements = [&](Elements sent) {
    std::vector<float> x(n, 0.25f);
    for (Elements i = 0; i < sent; ++i) x[i * n / sent] = 1 + static_cast<float>(i);
    return x;
  };
  const std::vector<float> residual(n, 0.125f), base = gaussian(n, 3);
  std::vector<Coded> codes;
  for (const Elements sent : {0u, 1u, 4094u, 4095u, 4096u, 4097u, 8191u, 8192u, 12289u, 19999u, 20000u}) {
    INFO(sent);
    const std::vector<float> x = with_elements(sent);
    const Coded a = encode(*written.codec, x, residual), b = encode(*generated, x, residual);
    CHECK((a.payload == b.payload));
    CHECK(same_bytes(a.residual, b.residual));
    CHECK(same_bytes(decode(*written.codec, b, n), decode(*generated, b, n)));
    std::vector<float> one = base, other = base;
    written.codec->decode_add(b.view(), n, one.data());
    generated->decode_add(b.view(), n, other.data());
    CHECK(same_bytes(one, other));
    codes.push_back(b);
  }
  for (std::size_t i = 0; i + 1 < codes.size(); ++i) {
    INFO("merge from " << i);
    const Contribution terms[] = {{codes[i].view()}, {codes[i + 1].view()}};
    std::vector<std::byte> is(generated->encoded_bound(n)), should(is);
    std::vector<float> kept(n), kept_meant(n);
    const Encoded a = generated->merge(terms, n, 0.5f, *generated, {nullptr, kept.data(), n}, {}, is.data());
    const Encoded b =
        written.codec->merge(terms, n, 0.5f, *written.codec, {nullptr, kept_meant.data(), n}, {}, should.data());
    REQUIRE(a.size == b.size);
    CHECK((std::memcmp(is.data(), should.data(), a.size) == 0));
    CHECK(same_bytes(kept, kept_meant));
  }
}

TEST_CASE("coded: a merge is decoding, adding and encoding, also from and to codecs of one size") {
  const Elements n = 9000;
  const std::vector<float> x = gaussian(n, 1), y = laplace(n, 2);
  const std::pair<const char*, Parameters> codecs[] = {{"lossless", {}},
                                                       {"threshold_coded", {}},
                                                       {"threshold_coded", {{"tau", 2.5}}},
                                                       {"topk_coded", {}},
                                                       {"atomo", {}},
                                                       {"qsgd_elias", {}},
                                                       {"int8", {}},
                                                       {"topk", {}}};
  for (const auto& [name, parameters] : codecs) {
    for (const auto& [second, of_second] : codecs) {
      INFO(name << " to " << second);
      const auto first = codec_of(name, parameters), to = codec_of(second, of_second);
      const Coded one = encode(*first, x), other = encode(*first, y);
      const Contribution terms[] = {{one.view()}, {{}, x.data()}, {other.view()}};
      std::vector<std::byte> is(to->encoded_bound(n)), should(is);
      std::vector<float> kept(n), kept_meant(n);
      const Encoded a = first->merge(terms, n, 0.5f, *to, {nullptr, kept.data(), n}, {}, is.data());
      const Encoded b = merge_whole(*first, terms, n, 0.5f, *to, {nullptr, kept_meant.data(), n}, {}, should.data());
      REQUIRE(a.size == b.size);
      CHECK((std::memcmp(is.data(), should.data(), a.size) == 0));
      CHECK(same_bytes(kept, kept_meant));
    }
  }
}

TEST_CASE("coded: a payload above the bound, cut off, longer or for other elements is data loss") {
  for (const char* name : kCoded) {
    for (const Elements n : {0u, 1u, 700u, 5000u}) {
      const auto codec = codec_of(name);
      const Coded coded = encode(*codec, gaussian(n, 1));
      const Bytes step = std::max<Bytes>(1, coded.payload.size() / 97);
      for (Bytes size = 0; size <= coded.payload.size() + 20; size += step) {
        if (size == coded.payload.size()) continue;
        std::vector<std::byte> other = coded.payload;
        other.resize(size);
        INFO(name << ", n " << n << ", " << size << " bytes");
        CHECK(checked(*codec, other, n).code() == StatusCode::kDataLoss);
      }
      std::vector<std::byte> above = coded.payload;
      above.resize(codec->encoded_bound(n) + 1);
      const Status status = checked(*codec, above, n);
      CHECK(status.code() == StatusCode::kDataLoss);
      CHECK_THAT(status.message(), Catch::Contains("expected 16 to " + std::to_string(codec->encoded_bound(n))));
      CHECK(checked(*codec, coded.payload, n + 1).code() == StatusCode::kDataLoss);
    }
  }
}

TEST_CASE("coded: any bytes after a header are refused or decode inside") {
  std::mt19937 random(5);
  constexpr Elements kMany = 5000;
  std::vector<float> memory(kMany + 128, -7.5f);
  int accepted = 0;
  for (const char* name : kCoded) {
    const auto codec = codec_of(name);
    const Coded coded = encode(*codec, laplace(kMany, 3));
    for (int trial = 0; trial < 600; ++trial) {
      std::vector<std::byte> payload = coded.payload;
      const std::size_t times = 1 + random() % 3;
      for (std::size_t i = 0; i < times; ++i)
        payload[16 + random() % (payload.size() - 16)] = static_cast<std::byte>(random());
      if (trial % 8 == 0)
        std::generate(payload.begin() + 16, payload.end(), [&] { return static_cast<std::byte>(random()); });
      if (!checked(*codec, payload, kMany)) continue;
      ++accepted;
      codec->decode({payload.data(), payload.size()}, kMany, memory.data() + 64);
      REQUIRE(std::all_of(memory.begin(), memory.begin() + 64, [](float v) { return v == -7.5f; }));
      REQUIRE(std::all_of(memory.end() - 64, memory.end(), [](float v) { return v == -7.5f; }));
    }
  }
  CHECK(accepted > 300);
}

}  // namespace casync::compll
