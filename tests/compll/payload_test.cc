// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "tests/compll/support/inputs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {
namespace {

// In memory of exactly its size, so that a sanitizer sees a read beyond it.
Status check(const Codec& codec, std::span<const std::byte> payload, Elements n) {
  const std::vector<std::byte> exact(payload.begin(), payload.end());
  return codec.check({exact.data(), exact.size()}, n);
}

// Offset of the codes, as docs/payloads.md has it.
Bytes codes_start(const Codec& codec, Elements n) {
  const CodecInfo& info = codec.info();
  const int sections = info.name == "onebit" ? 2 : (info.block == 1 ? 0 : 1);
  Bytes start = 16;
  for (int i = 0; i < sections; ++i) start = round_up(start + ceil_div(n, info.block) * sizeof(float), 16);
  return start;
}

bool is_identity(const std::unique_ptr<Codec>& codec) { return codec->info().identity; }

void put_float(std::vector<std::byte>& payload, Bytes at, float value) {
  std::memcpy(payload.data() + at, &value, sizeof value);
}

}  // namespace

TEST_CASE("payload: any other length is data loss") {
  for (const auto& codec : all_codecs()) {
    for (Elements n : {Elements{0}, Elements{1}, Elements{1000}}) {
      const Coded coded = encode(*codec, gaussian(n, 1));
      REQUIRE(check(*codec, coded.payload, n));
      for (Bytes size = 0; size <= coded.payload.size() + 20; ++size) {
        if (size == coded.payload.size()) continue;
        std::vector<std::byte> other = coded.payload;
        other.resize(size);
        const Status status = check(*codec, other, n);
        if (status.code() == StatusCode::kDataLoss) continue;
        FAIL_CHECK(title(*codec) << ", n " << n << ", " << size << " bytes: " << status.text());
      }
    }
  }
}

TEST_CASE("payload: a flipped bit before the codes, or behind the last one, is data loss") {
  const Elements n = 1001;
  for (const auto& codec : all_codecs()) {
    if (is_identity(codec)) continue;
    const Coded coded = encode(*codec, gaussian(n, 1));
    const bool flag_is_free = codec->info().block == 1;  // half formats do not check for infinite codes
    for (Bytes bit = 0; bit < codes_start(*codec, n) * 8; ++bit) {
      const Bytes byte = bit / 8;
      const bool in_statistics = byte >= 16;
      if (in_statistics || (flag_is_free && bit == 4 * 8)) continue;  // another valid scale: a checksum's task
      std::vector<std::byte> flipped = coded.payload;
      flipped[byte] ^= static_cast<std::byte>(1u << (bit % 8));
      INFO(title(*codec) << ", bit " << bit);
      CHECK(check(*codec, flipped, n).code() == StatusCode::kDataLoss);
    }
  }
  for (const char* name : {"int4", "onebit"}) {
    const auto codec = codec_of(name);
    Coded coded = encode(*codec, gaussian(n, 1));
    coded.payload.back() |= std::byte{0x80};
    CHECK(check(*codec, coded.payload, n).code() == StatusCode::kDataLoss);
  }
}

TEST_CASE("payload: the bytes between the sections are zero or it is data loss") {
  for (const auto& [name, n, at] : {std::tuple<const char*, Elements, Bytes>{"int8", 1, 20},
                                    {"int4", 300, 28},
                                    {"onebit", 5, 31},
                                    {"onebit", 5, 47}}) {
    const auto codec = codec_of(name);
    Coded coded = encode(*codec, gaussian(n, 1));
    coded.payload[at] = std::byte{1};
    INFO(name);
    CHECK(check(*codec, coded.payload, n).code() == StatusCode::kDataLoss);
  }
}

TEST_CASE("payload: scales and means that no encoder writes are data loss, and the message has the block") {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto int8 = codec_of("int8"), onebit = codec_of("onebit");
  const Elements n = 5000;
  for (float scale : {std::nanf(""), infinity, -1.0f, -0.0f, 1e-39f}) {
    Coded coded = encode(*int8, gaussian(n, 1));
    put_float(coded.payload, 16 + 4 * 3, scale);
    INFO(scale);
    const Status status = check(*int8, coded.payload, n);
    CHECK(status.code() == StatusCode::kDataLoss);
    CHECK_THAT(status.message(), Catch::Contains("block 3"));
  }
  for (const auto& [above, below] : {std::pair<float, float>{std::nanf(""), -1.0f},
                                     {1.0f, infinity},
                                     {-1.0f, -1.0f},
                                     {1.0f, 1.0f},
                                     {infinity, -1.0f}}) {
    Coded coded = encode(*onebit, gaussian(n, 1));
    put_float(coded.payload, 16 + 4, above);
    put_float(coded.payload, 32 + 4, below);  // 3 blocks: the first section ends with a gap of 4 bytes
    INFO(above << " " << below);
    const Status status = check(*onebit, coded.payload, n);
    CHECK(status.code() == StatusCode::kDataLoss);
    CHECK_THAT(status.message(), Catch::Contains("block 1"));
  }
}

TEST_CASE("payload: another codec's, another block's or another n's payload is told apart") {
  const Elements n = 512;
  const Coded int8 = encode(*codec_of("int8"), gaussian(n, 1));
  CHECK(check(*codec_of("int8"), int8.payload, n - 1).text() ==
        "DataLoss: payload: its size in bytes is 544, expected 543");
  const Coded bf16 = encode(*codec_of("bf16"), gaussian(n, 1));
  CHECK(check(*codec_of("fp16"), bf16.payload, n).text() == "DataLoss: payload: the codec's number is 2, expected 3");
  const Coded other = encode(*codec_of("int4", {{"block", 16}}), gaussian(31, 1));
  CHECK(check(*codec_of("int4", {{"block", 32}}), other.payload, 31).text() ==
        "DataLoss: payload: log2(block) is 4, expected 5");
}

TEST_CASE("payload: random bytes are refused, and what passes decodes within its memory") {
  std::mt19937 random(11);
  const Elements n = 777;
  for (const auto& codec : all_codecs()) {
    INFO(title(*codec));
    const Coded good = encode(*codec, gaussian(n, 1));
    for (int round = 0; round < 50; ++round) {
      std::vector<std::byte> bytes(good.payload.size());
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
      if (!codec->info().identity) CHECK_FALSE(check(*codec, bytes, n));
      // Hostile codes after an honest frame.
      std::copy_n(good.payload.begin(), codes_start(*codec, n) * (codec->info().identity ? 0 : 1), bytes.begin());
      if (!check(*codec, bytes, n)) continue;
      std::vector<float> out(n);
      codec->decode({bytes.data(), bytes.size()}, n, out.data());
      codec->decode_add({bytes.data(), bytes.size()}, n, out.data());
    }
  }
}

}  // namespace casync::compll
