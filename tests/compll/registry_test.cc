// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>

#include "compll/codec/registry.h"
#include "compll/codec/rounds_codec.h"
#include "compll/codec/written.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {
namespace {

std::string refusal(const std::string& name, const Parameters& parameters = {}) {
  const auto codec = make_codec(name, parameters);
  REQUIRE_FALSE(codec.is_ok());
  CHECK(codec.status().code() == StatusCode::kInvalidArgument);
  return codec.status().message();
}

std::string text_of(const char* path) {
  std::ifstream file(path);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("registry: the usual codecs come first, the others by name, with numbers of their own") {
  const std::vector<std::string> names = codec_names(), usual = {"none", "bf16", "fp16", "int8", "int4", "onebit"};
  REQUIRE(names.size() > usual.size());
  CHECK(std::equal(usual.begin(), usual.end(), names.begin()));
  CHECK(std::is_sorted(names.begin() + static_cast<std::ptrdiff_t>(usual.size()), names.end()));
  std::set<int> numbers;
  for (const std::string& name : names) {
    const auto codec = codec_of(name);
    CHECK(codec->info().name == name);
    CHECK(codec->info().values.size() == codec->info().parameters.size());
    CHECK(numbers.insert(codec->info().number).second);
  }
}

TEST_CASE("registry: every program of compll/codecs is in one list") {
  std::vector<std::string> files, listed;
  for (const auto& file : std::filesystem::directory_iterator(CASYNC_CODECS)) {
    if (file.path().extension() == ".cll") files.push_back(file.path().stem().string());
  }
  for (const auto& list :
       {written_codecs(), written_rounds(), written_patches(), written_for_exchanges(), written_for_states()}) {
    for (const GeneratedCodec* codec : list) listed.emplace_back(codec->declares.name);
  }
  std::sort(files.begin(), files.end());
  std::sort(listed.begin(), listed.end());
  CHECK(listed == files);
}

TEST_CASE("registry: the pages of codecs and of payloads name every codec") {
  const std::string codecs = text_of(CASYNC_DOCS "/codecs.md"), payloads = text_of(CASYNC_DOCS "/payloads.md");
  std::vector<std::string> names = codec_names();
  for (const auto& more : {rounds_codec_names(), patch_names()}) names.insert(names.end(), more.begin(), more.end());
  for (const std::string& name : names) CHECK_THAT(codecs, Catch::Contains("`" + name + "`"));
  for (const auto& file : std::filesystem::directory_iterator(CASYNC_CODECS)) {
    CHECK_THAT(payloads, Catch::Contains("`" + file.path().stem().string() + "`"));
  }
}

TEST_CASE("registry: declarations of codecs") {
  CHECK(codec_of("none")->info().identity);
  CHECK_FALSE(codec_of("bf16")->info().feedback);
  CHECK(codec_of("bf16", {{"feedback", 1}})->info().feedback);
  CHECK(codec_of("int8")->info().feedback);
  CHECK_FALSE(codec_of("onebit", {{"feedback", 0}})->info().feedback);
  CHECK(codec_of("int8")->info().block == 256);
  CHECK(codec_of("int4", {{"block", 32}})->info().bits_per_element == 5);
  CHECK(codec_of("int8")->info().bits_per_element == 8.125);
  CHECK(codec_of("int4")->info().bits_per_element == 4.25);
  CHECK(codec_of("onebit")->info().bits_per_element == 1.03125);
}

TEST_CASE("registry: an unknown codec is answered with the nearest and where all are") {
  CHECK(refusal("onebits") ==
        "no codec is called `onebits` (did you mean `onebit`?); `casync codec list` shows all, and a file's name ends "
        "in .cll");
  CHECK_THAT(refusal("zstandard"), !Catch::Contains("mean"));
}

TEST_CASE("registry: the codecs of exchanges are there by name, and in no list") {
  const auto names = codec_names();
  CHECK(std::find(names.begin(), names.end(), "exchange_elias") == names.end());
  CHECK(codec_of("exchange_elias")->info().number == 68);
  CHECK(built_in_with_number(68) == "exchange_elias");
  CHECK(check_no_exchange("int8").text() == "OK");
  CHECK_THAT(check_no_exchange("exchange_elias").message(), Catch::StartsWith("codec `exchange_elias` makes whole"));
  CHECK(std::find(names.begin(), names.end(), "exchange_whole") == names.end());
  CHECK(built_in_with_number(77) == "exchange_whole");
  CHECK_THAT(check_no_exchange("exchange_whole").message(), Catch::StartsWith("codec `exchange_whole` makes whole"));
}

TEST_CASE("registry: the codec that rounds what sessions keep is there by name, and in no list") {
  const auto names = codec_names();
  CHECK(std::find(names.begin(), names.end(), "kept_bf16") == names.end());
  CHECK(built_in_with_number(codec_of("kept_bf16")->info().number) == "kept_bf16");
  CHECK_THAT(check_no_exchange("kept_bf16").message(),
             Catch::StartsWith("codec `kept_bf16` works on what sessions keep"));
}

TEST_CASE("registry: an unknown parameter and values out of range are named") {
  CHECK(refusal("int8", {{"blok", 64}}) ==
        "codec `int8` has no parameter `blok` (did you mean `block`?); it takes block, feedback");
  CHECK(refusal("efsign", {{"blok", 64}}) ==
        "codec `efsign` has no parameter `blok` (did you mean `block`?); it takes block, feedback");
  CHECK(refusal("efsign", {{"block", 100}}) ==
        "codec `efsign`: parameter `block` is 100, expected a whole number from 64 to 65536 in steps of 16");
  CHECK(refusal("none", {{"block", 64}}) == "codec `none` has no parameter `block`; it takes none");
  CHECK(refusal("int8", {{"block", 100}}) ==
        "codec `int8`: parameter `block` is 100, expected a whole number from 16 to 65536 in steps of 16");
  for (double block : {8.0, 131072.0, 64.5, -64.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    INFO(block);
    CHECK_THAT(refusal("int4", {{"block", block}}), Catch::Contains("from 16 to 65536"));
    CHECK_THAT(refusal("int2", {{"block", block}}), Catch::Contains("from 16 to 65536"));
  }
  CHECK_THAT(refusal("onebit", {{"block", 32}}), Catch::Contains("from 64 to 65536"));
  CHECK_THAT(refusal("int4", {{"feedback", 0.5}}), Catch::Contains("a whole number from 0 to 1"));
}

}  // namespace casync::compll
