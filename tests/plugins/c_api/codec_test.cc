// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "plugins/c_api/casync.h"

namespace {

/// An open codec, freed at the end.
struct Codec {
  explicit Codec(const char* name) { REQUIRE(casync_codec_open(name, nullptr, 0, &handle) == CASYNC_OK); }
  ~Codec() { casync_codec_free(handle); }
  std::size_t bound(std::size_t elements) const {
    std::size_t bytes = 0;
    REQUIRE(casync_codec_bound(handle, elements, &bytes) == CASYNC_OK);
    return bytes;
  }
  std::vector<char> encode(const std::vector<float>& in) const {
    std::vector<char> payload(bound(in.size()));
    std::size_t bytes = 0;
    REQUIRE(casync_codec_encode(handle, in.data(), in.size(), nullptr, nullptr, 0, 0, payload.data(), payload.size(),
                                &bytes) == CASYNC_OK);
    payload.resize(bytes);
    return payload;
  }
  std::vector<float> decode(const std::vector<char>& payload, std::size_t elements) const {
    std::vector<float> out(elements);
    REQUIRE(casync_codec_decode(handle, payload.data(), payload.size(), out.data(), elements) == CASYNC_OK);
    return out;
  }
  nlohmann::json info() const {
    std::string text(8192, ' ');
    std::size_t length = 0;
    REQUIRE(casync_codec_info(handle, text.data(), text.size(), &length) == CASYNC_OK);
    return nlohmann::json::parse(text.substr(0, length));
  }
  casync_codec* handle = nullptr;
};

std::vector<float> wave(std::size_t elements) {
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i) values[i] = std::sin(0.1f * static_cast<float>(i));
  return values;
}

std::string last_error() { return casync_last_error(); }

/// The last error of a call that refuses its arguments.
std::string refusal(casync_status status) { return status == CASYNC_INVALID_ARGUMENT ? last_error() : "not refused"; }

}  // namespace

TEST_CASE("c codec: one of rounds describes itself, and refuses to encode outside of a session") {
  const Codec codec("powersgd:rank=2");
  CHECK(codec.info().at("rounds") == 2);
  CHECK(codec.info().at("name") == "powersgd");
  const std::string why =
      "codec `powersgd` adds up what it sends over all ranks between its rounds: it runs in a session, "
      "and encodes nothing by itself";
  std::size_t bytes = 0;
  std::vector<float> in = wave(10);
  std::vector<char> payload(1000);
  CHECK(casync_codec_bound(codec.handle, 10, &bytes) == CASYNC_INVALID_ARGUMENT);
  CHECK(last_error() == why);
  CHECK(casync_codec_encode(codec.handle, in.data(), 10, nullptr, nullptr, 0, 0, payload.data(), payload.size(),
                            &bytes) == CASYNC_INVALID_ARGUMENT);
  CHECK(last_error() == why);
  CHECK(casync_codec_decode(codec.handle, payload.data(), payload.size(), in.data(), 10) == CASYNC_INVALID_ARGUMENT);
  CHECK(last_error() == why);
  const void* payloads[] = {payload.data()};
  const std::size_t sizes[] = {payload.size()};
  CHECK(casync_codec_merge(codec.handle, 1, payloads, sizes, 10, payload.data(), payload.size(), &bytes) ==
        CASYNC_INVALID_ARGUMENT);
  CHECK(last_error() == why);
}

TEST_CASE("c codec: a patch gives the version that was encoded, and its merge is refused by name") {
  const Codec codec("patch");
  CHECK(codec.info().at("has_result") == true);
  const std::size_t n = 1000;
  std::vector<float> sent(n), sent_next(n), held(n), held_next(n), out(n);
  std::vector<char> payload(codec.bound(n));
  for (int version = 1; version <= 3; ++version) {
    std::vector<float> weights(n);
    for (std::size_t i = 0; i < n; ++i)
      weights[i] = static_cast<float>(i % 128) * (version == 2 && i < 20 ? -2.0f : 1.0f);
    std::size_t bytes = 0;
    REQUIRE(casync_codec_encode(codec.handle, weights.data(), n, sent.data(), sent_next.data(), 0, 0, payload.data(),
                                payload.size(), &bytes) == CASYNC_OK);
    if (version > 1) CHECK(bytes < 150);
    REQUIRE(casync_codec_decode(codec.handle, payload.data(), bytes, out.data(), n) == CASYNC_OK);
    REQUIRE(casync_codec_result(codec.handle, out.data(), n, held.data(), held_next.data(), out.data()) == CASYNC_OK);
    CHECK((std::memcmp(out.data(), weights.data(), n * sizeof(float)) == 0));
    sent.swap(sent_next);
    held.swap(held_next);
  }
  std::vector<float> infinite(n, std::numeric_limits<float>::infinity());
  REQUIRE(casync_codec_result(codec.handle, infinite.data(), n, held.data(), held_next.data(), out.data()) ==
          CASYNC_OK);
  CHECK(held_next == held);
  CHECK(casync_codec_result(codec.handle, out.data(), n, held.data(), held.data(), out.data()) ==
        CASYNC_INVALID_ARGUMENT);
  CHECK(last_error() == "state_in and state_out overlap");
  CHECK(refusal(casync_codec_result(codec.handle, out.data(), n, nullptr, held.data(), out.data())) ==
        "`state_in` is NULL");
  const Codec int8("int8");
  CHECK(casync_codec_result(int8.handle, out.data(), n, held.data(), held_next.data(), out.data()) ==
        CASYNC_INVALID_ARGUMENT);
  CHECK(last_error() == "codec `int8` encodes no differences: the elements that it decodes are the result");
  const void* payloads[] = {payload.data()};
  const std::size_t sizes[] = {payload.size()};
  std::size_t bytes = 0;
  std::vector<char> merged(codec.bound(n));
  CHECK(casync_codec_merge(codec.handle, 1, payloads, sizes, n, merged.data(), merged.size(), &bytes) ==
        CASYNC_INVALID_ARGUMENT);
  CHECK(last_error().rfind("codec `patch` encodes the difference to the last version", 0) == 0);
}

TEST_CASE("c codec: every codec named encodes and decodes through C, and describes itself") {
  std::istringstream names(casync_codec_names());
  int count = 0;
  for (std::string name; names >> name; ++count) {
    CAPTURE(name);
    const Codec codec(name.c_str());
    if (codec.info().at("rounds") != 0) continue;  // none that encodes by itself
    const std::vector<float> in = wave(1000), out = codec.decode(codec.encode(in), in.size());
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      error += std::pow(out[i] - in[i], 2);
      norm += std::pow(in[i], 2);
    }
    char text[8192];
    std::size_t length = 0;
    REQUIRE(casync_codec_info(codec.handle, text, sizeof text, &length) == CASYNC_OK);
    REQUIRE(length == std::strlen(text));
    const auto info = nlohmann::json::parse(text);
    CHECK(info.at("name") == name);
    CHECK(std::isfinite(error));
    // One in a hundred elements is all that some codecs send.
    if (info.at("contractive")) CHECK(error < (info.at("bits_per_element") <= 1 ? 1 : 0.5) * norm);
    CHECK(info.at("bits_per_element") > 0);
    CHECK(info.at("parameters").is_array());
  }
  CHECK(count >= 6);
}

TEST_CASE("c codec: a merge of payloads decodes to about their sum") {
  const Codec codec("int8");
  const std::vector<float> in = wave(1000);
  const std::vector<char> one = codec.encode(in);
  const void* payloads[] = {one.data(), one.data(), one.data()};
  const std::size_t bytes[] = {one.size(), one.size(), one.size()};
  std::vector<char> merged(codec.bound(in.size()));
  std::size_t merged_bytes = 0;
  REQUIRE(casync_codec_merge(codec.handle, 3, payloads, bytes, in.size(), merged.data(), merged.size(),
                             &merged_bytes) == CASYNC_OK);
  merged.resize(merged_bytes);
  const std::vector<float> out = codec.decode(merged, in.size());
  for (std::size_t i = 0; i < in.size(); ++i) REQUIRE(std::abs(out[i] - 3 * in[i]) < 0.1f);
}

TEST_CASE("c codec: parameters come in the name or beside it") {
  const casync_parameter beside[] = {{"block", 64}};
  casync_codec* codec = nullptr;
  REQUIRE(casync_codec_open("int4:feedback=0", beside, 1, &codec) == CASYNC_OK);
  char text[8192];
  std::size_t length = 0;
  REQUIRE(casync_codec_info(codec, text, sizeof text, &length) == CASYNC_OK);
  const auto info = nlohmann::json::parse(text);
  std::map<std::string, double> values;
  for (const auto& parameter : info.at("parameters")) values[parameter.at("name")] = parameter.at("value");
  CHECK(values.at("block") == 64);
  CHECK(values.at("feedback") == 0);
  casync_codec_free(codec);
  CHECK(casync_codec_open("int5", nullptr, 0, &codec) == CASYNC_INVALID_ARGUMENT);
  CHECK(last_error().find("int5") != std::string::npos);
  CHECK(codec == nullptr);
  CHECK(casync_codec_open("int4:blok=64", nullptr, 0, &codec) == CASYNC_INVALID_ARGUMENT);
  CHECK(last_error().find("blok") != std::string::npos);
}

TEST_CASE("c codec: a residual carries what the payload left over, and stays when the input is not finite") {
  const Codec codec("int4");
  std::vector<float> in = wave(256), before(256, 0.25f), after(256);
  std::vector<char> payload(codec.bound(in.size()));
  std::size_t bytes = 0;
  const auto encode = [&] {
    return casync_codec_encode(codec.handle, in.data(), in.size(), before.data(), after.data(), 0, 0, payload.data(),
                               payload.size(), &bytes);
  };
  REQUIRE(encode() == CASYNC_OK);
  payload.resize(bytes);
  const std::vector<float> out = codec.decode(payload, in.size());
  for (std::size_t i = 0; i < in.size(); ++i) REQUIRE(std::abs(out[i] + after[i] - (in[i] + before[i])) < 1e-5f);
  in[7] = std::numeric_limits<float>::quiet_NaN();
  REQUIRE(encode() == CASYNC_OK);
  CHECK(after == before);
}

TEST_CASE("c codec: a payload that is none is DataLoss and writes nothing") {
  const Codec codec("int8");
  std::vector<char> payload = codec.encode(wave(100));
  std::vector<float> out(101, 9.0f);
  CHECK(casync_codec_decode(codec.handle, payload.data(), payload.size() - 1, out.data(), 100) == CASYNC_DATA_LOSS);
  CHECK(casync_codec_decode(codec.handle, payload.data(), payload.size(), out.data(), 101) == CASYNC_DATA_LOSS);
  CHECK(casync_codec_decode(codec.handle, nullptr, 0, out.data(), 100) == CASYNC_DATA_LOSS);
  CHECK(out == std::vector<float>(101, 9.0f));
  const void* payloads[] = {payload.data(), payload.data()};
  const std::size_t bytes[] = {payload.size(), payload.size() - 1};
  std::vector<char> merged(codec.bound(100));
  std::size_t merged_bytes = 77;
  CHECK(casync_codec_merge(codec.handle, 2, payloads, bytes, 100, merged.data(), merged.size(), &merged_bytes) ==
        CASYNC_DATA_LOSS);
  CHECK(last_error().starts_with("payloads[1]: "));
  CHECK(merged_bytes == 77);
}

TEST_CASE("c codec: wrong arguments are refused by name") {
  const Codec codec("int8");
  float values[64] = {}, other[64] = {};
  char payload[1024];
  std::size_t bytes = 0;
  const auto encode = [&](const float* in, std::size_t n, const float* r_in, float* r_out, void* out, std::size_t room,
                          std::size_t* size) {
    CHECK(casync_codec_encode(codec.handle, in, n, r_in, r_out, 0, 0, out, room, size) == CASYNC_INVALID_ARGUMENT);
    return last_error();
  };
  CHECK(encode(nullptr, 64, nullptr, nullptr, payload, 1024, &bytes) == "`in` is NULL");
  CHECK(encode(values, 64, nullptr, nullptr, nullptr, 1024, &bytes) == "`payload` is NULL");
  CHECK(encode(values, 64, nullptr, nullptr, payload, 1024, nullptr) == "`bytes` is NULL");
  CHECK(encode(values, 64, values, nullptr, payload, 1024, &bytes).starts_with("residual_in and residual_out belong"));
  CHECK(encode(values, 64, other, other, payload, 1024, &bytes) == "residual_in and residual_out overlap");
  CHECK(encode(values, 64, nullptr, nullptr, values, sizeof values, &bytes) == "in and payload overlap");
  CHECK(encode(values, 64, nullptr, nullptr, payload, 3, &bytes).starts_with("`capacity` is 3, int8 needs "));
  for (const std::size_t many : {std::size_t{SIZE_MAX}, (std::size_t{1} << 31) + 1, std::size_t{1} << 32}) {
    CHECK(encode(values, many, nullptr, nullptr, payload, 1024, &bytes).starts_with("`elements` is "));
    CHECK(refusal(casync_codec_bound(codec.handle, many, &bytes)).starts_with("`elements` is "));
    CHECK(refusal(casync_codec_decode(codec.handle, payload, 8, values, many)).starts_with("`elements` is "));
  }
  CHECK(codec.bound(std::size_t{1} << 31) > std::size_t{1} << 31);
  CHECK(refusal(casync_codec_encode(nullptr, values, 64, nullptr, nullptr, 0, 0, payload, 1024, &bytes)) ==
        "`codec` is NULL");
  CHECK(refusal(casync_codec_decode(codec.handle, payload, 8, nullptr, 64)) == "`out` is NULL");
  const void* payloads[] = {payload};
  const auto merge = [&](std::size_t count, const void* const* from, const std::size_t* sizes) {
    return refusal(casync_codec_merge(codec.handle, count, from, sizes, 64, payload, 1024, &bytes));
  };
  CHECK(merge(0, nullptr, nullptr).starts_with("`count` is 0"));
  CHECK(merge(1, nullptr, &bytes) == "`payloads` is NULL");
  CHECK(merge(1, payloads, nullptr) == "`bytes` is NULL");
  CHECK(refusal(casync_codec_bound(codec.handle, 1, nullptr)) == "`bytes` is NULL");
  CHECK(refusal(casync_codec_bound(nullptr, 1, &bytes)) == "`codec` is NULL");
  CHECK(refusal(casync_codec_open("int8", nullptr, 0, nullptr)) == "`codec` is NULL");
  casync_codec* opened = nullptr;
  CHECK(refusal(casync_codec_open(nullptr, nullptr, 0, &opened)) == "`name` is NULL");
  CHECK(refusal(casync_codec_open("int8", nullptr, 2, &opened)) == "`parameters` is NULL");
  CHECK(opened == nullptr);
  casync_codec_free(nullptr);
}

TEST_CASE("c codec: a text that does not fit is cut, ends in NUL, and its length is told") {
  const Codec codec("int8");
  std::size_t whole = 0, length = 0;
  CHECK(casync_codec_info(codec.handle, nullptr, 0, &whole) == CASYNC_OK);
  char text[8] = "0123456";
  CHECK(casync_codec_info(codec.handle, text, 5, &length) == CASYNC_OK);
  CHECK(length == whole);
  CHECK(std::string(text, 4).front() == '{');
  CHECK(text[4] == '\0');
  CHECK(text[5] == '5');
  CHECK(refusal(casync_codec_info(codec.handle, nullptr, 5, &length)) == "`json` is NULL");
  CHECK(refusal(casync_codec_info(codec.handle, text, 5, nullptr)) == "`length` is NULL");
  CHECK(refusal(casync_codec_info(nullptr, text, 5, &length)) == "`codec` is NULL");
}
