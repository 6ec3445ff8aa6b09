// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "compll/codec/coded/coded_codec.h"
#include "tests/compll/codecs/promises.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll {

TEST_CASE("codecs: each is called as its file is, has a number of its own and says where it is published") {
  std::set<int> numbers;
  const std::vector<std::string> built_in = codec_names();
  for (const std::string& name : written_names()) {
    INFO(name);
    const CodecInfo info = from_source(name).codec->info();
    CHECK(info.name == name);
    CHECK_FALSE(info.summary.empty());
    CHECK_FALSE(info.source.empty());
    CHECK(info.number > 1);  // of `none`, which is no program
    CHECK(numbers.insert(info.number).second);
    for (const std::string& other : built_in) {
      CHECK((other == name) == (codec_of(other)->info().number == info.number));
    }
    for (const CodecParameter& parameter : info.parameters) CHECK_FALSE(parameter.meaning.empty());
  }
}

TEST_CASE("codecs: a payload has the size of its sections, for every size and every input") {
  for (const std::string& name : written_names()) {
    const Written written = from_source(name);
    for (const Elements n : sizes()) {
      if (n > 4099) continue;
      INFO(name << ", n " << n);
      const Bytes plain = size_of_sections(written, n), bound = written.codec->encoded_bound(n);
      REQUIRE((size_varies(*written.codec) ? bound >= plain : bound == plain));
      for (const Input& input : inputs(n)) {
        INFO(input.name);
        const Coded coded = encode(*written.codec, input.values);
        CHECK(written.codec->check(coded.view(), n).text() == "OK");
        const double overflow = written.program->declares.overflow;
        const bool fits =
            std::all_of(input.values.begin(), input.values.end(), [&](float x) { return std::fabs(x) < overflow; });
        CHECK(coded.finite == fits);
        const std::vector<float> decoded = decode(*written.codec, coded, n);
        const bool finite = std::all_of(decoded.begin(), decoded.end(), [](float x) { return std::isfinite(x); });
        if (!input.finite) CHECK_FALSE(finite);
        if (input.finite && holds_for(promises_of(name), input.values)) CHECK(finite);
      }
    }
  }
}

TEST_CASE("codecs: the sizes of 1001 elements are those that the formats come to") {
  // A header of 16 bytes, then each section from a multiple of 16 on.
  const std::map<std::string, Bytes> bytes = {{"bf16", 16 + 2002},
                                              {"fp16", 16 + 2002},
                                              {"int8", 16 + 16 + 1001},
                                              {"int4", 16 + 32 + 501},
                                              {"int2", 16 + 64 + 251},
                                              {"efsign", 32 + 126},
                                              {"signsgd", 32 + 126},
                                              {"tbq", 16 + 251},
                                              {"terngrad", 32 + 251},
                                              {"qsgd", 48 + 501},
                                              {"minmax", 16 + 16 + 16 + 501},
                                              {"natural", 16 + 1001},
                                              {"fp8_e4m3", 16 + 16 + 1001},
                                              {"fp8_e5m2", 32 + 1001},
                                              {"mxfp4", 16 + 32 + 501},
                                              {"onebit", 48 + 126},
                                              {"natural_dithering", 48 + 501},
                                              {"nf4", 16 + 64 + 501},
                                              {"nvfp4", 32 + 64 + 501},
                                              {"lloyd2", 16 + 64 + 251},
                                              {"drive", 16 + 16 + 32 + 126}};
  for (const auto& [name, size] : bytes) {
    INFO(name);
    CHECK(from_source(name).codec->encoded_bound(1001) == size);
  }
  CHECK(from_source("minmax", {{"bits", 1}}).codec->encoded_bound(1001) == 48 + 126);
  CHECK(from_source("qsgd", {{"bits", 8}}).codec->encoded_bound(1001) == 48 + 1001);
}

TEST_CASE("codecs: the bits for each element are those declared, whatever the parameters within their ranges") {
  const Elements many = 1 << 26;
  const std::vector<float> x = gaussian(1000, 1);
  for (const std::string& name : written_names()) {
    std::vector<Parameters> all(1);  // none given
    const Written initial = from_source(name);
    for (const ProgramParameter& parameter : initial.program->parameters) {
      std::vector<double> values = parameter.choices;
      if (values.empty()) values = {parameter.least, parameter.most};
      for (const double value : values) all.push_back(Parameters{{parameter.name, value}});
    }
    for (const Parameters& parameters : all) {
      const Written written = from_source(name, parameters);
      INFO(name << (parameters.empty() ? "" : ", " + parameters[0].first + " " + std::to_string(parameters[0].second)));
      const double bits = 8.0 * static_cast<double>(written.codec->encoded_bound(many)) / static_cast<double>(many);
      if (!size_varies(*written.codec)) {
        CHECK(bits == Approx(written.codec->info().bits_per_element).epsilon(0.001).margin(0.001));
      }
      const Coded coded = encode(*written.codec, x);
      CHECK(written.codec->check(coded.view(), x.size()).is_ok());
      const std::vector<float> decoded = decode(*written.codec, coded, x.size());
      CHECK(std::all_of(decoded.begin(), decoded.end(), [](float value) { return std::isfinite(value); }));
    }
  }
}

TEST_CASE("codecs: bytes that are too few, too many or of another codec are refused") {
  const Elements n = 129;
  for (const std::string& name : written_names()) {
    INFO(name);
    const Written written = from_source(name);
    const Coded coded = encode(*written.codec, gaussian(n, 1));
    std::vector<std::byte> longer = coded.payload;
    longer.push_back(std::byte{0});
    CHECK_FALSE(written.codec->check({coded.payload.data(), coded.payload.size() - 1}, n).is_ok());
    CHECK_FALSE(written.codec->check({longer.data(), longer.size()}, n).is_ok());
    CHECK_FALSE(written.codec->check(coded.view(), n + 1).is_ok());
    std::vector<std::byte> other = coded.payload;
    other[3] ^= std::byte{0x80};
    CHECK_FALSE(written.codec->check({other.data(), other.size()}, n).is_ok());
  }
}

TEST_CASE("codecs: zeros stay zeros, and no elements are a header alone") {
  for (const std::string& name : written_names()) {
    INFO(name);
    const Written written = from_source(name);
    const Coded nothing = encode(*written.codec, {});
    CHECK(nothing.payload.size() == 16);
    CHECK(decode(*written.codec, nothing, 0).empty());
    if (!promises_of(name).keeps_zeros) continue;
    for (const float zero : {0.0f, -0.0f}) {
      const std::vector<float> decoded = round_trip(*written.codec, std::vector<float>(300, zero));
      CHECK(std::all_of(decoded.begin(), decoded.end(), [](float x) { return x == 0; }));
    }
  }
}

}  // namespace casync::compll
