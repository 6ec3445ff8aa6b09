// SPDX-License-Identifier: Apache-2.0
//
// Generated kernels, run on this host, give the interpreter's bytes: for each codec of compll/codecs and for programs
// with branches, several results and reductions by a function.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <stdexcept>

#include "compll/codegen/cuda/tiles.h"
#include "compll/lang/front_end.h"
#include "tests/compll/cuda/emulated/device.h"
#include "tests/compll/cuda/support/codecs.h"
#include "tests/compll/cuda/support/compare.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/programs.h"

namespace casync::compll {

extern "C" const cuda::Kernels* casync_greatest_kernels();

namespace {

std::string difference(const cuda::Kernels& kernels, const Parameters& parameters, const test::Comparison& comparison,
                       const std::vector<emulated::Order>& orders = {emulated::Order::kForward,
                                                                     emulated::Order::kBackward}) {
  const Written meaning = test::meaning_of(kernels.name, parameters);
  std::deque<test::EmulatedDevice> owned;
  std::vector<test::KernelDevice*> devices;
  for (const emulated::Order order : orders) devices.push_back(&owned.emplace_back(order));
  return test::difference(kernels, *meaning.codec, devices, comparison);
}

const cuda::Kernels& kernels_of(const std::string& name) {
  for (const cuda::Kernels* each : test::kernels_of_codecs()) {
    if (each->name == name) return *each;
  }
  throw std::runtime_error("no kernels of " + name);
}

CodecParameter block_parameter(const cuda::Kernels& kernels) {
  const Written meaning = test::meaning_of(kernels.name, {});
  return meaning.codec->info().parameters[static_cast<std::size_t>(kernels.shape.block_parameter)];
}

}  // namespace

TEST_CASE("emulated kernels: every codec that CUDA text can be written from is here") {
  for (const std::string& name : written_names()) {
    const Source source(name + ".cll", source_of(name));
    const Result<Program> program = compile(source);
    REQUIRE(program.is_ok());
    const Result<Lowered> lowered = lower(*program, source);
    const bool can = lowered.is_ok() && cuda_text(*program, *lowered, source).is_ok();
    const std::vector<const cuda::Kernels*>& all = test::kernels_of_codecs();
    INFO(name);
    CHECK(can == std::any_of(all.begin(), all.end(), [&](const cuda::Kernels* each) { return each->name == name; }));
  }
}

TEST_CASE("emulated kernels: the bytes are the interpreter's") {
  for (const cuda::Kernels* kernels : test::kernels_of_codecs()) {
    CHECK(difference(*kernels, {}, {{0, 1, 3, 15, 16, 17, 33, 129, 300}, {0, 1, 130}, {4099}}) == "");
  }
}

TEST_CASE("emulated kernels: gradients in half precision, at any address, are read and rounded as the host does it") {
  for (const auto& [dtype, order] :
       {std::pair{DType::kFloat16, emulated::Order::kForward}, {DType::kBFloat16, emulated::Order::kBackward}}) {
    const test::Comparison halves = {{1, 17, 300}, {130, 4100}, {4099}, {0, 5, 2, 3, 4100}, dtype};
    for (const cuda::Kernels* kernels : test::kernels_of_codecs())
      CHECK(difference(*kernels, {}, halves, {order}) == "");
    CHECK(difference(kernels_of("int4"), {{"block", 4096}}, {{}, {4100}, {9000}, {}, dtype}, {order}) == "");
  }
}

TEST_CASE("emulated kernels: blocks of any size, within a row of a warp and beyond what it loads at once") {
  for (const cuda::Kernels* kernels : test::kernels_of_codecs()) {
    if (kernels->shape.block_parameter < 0) continue;
    const CodecParameter parameter = block_parameter(*kernels);
    const std::string& block = parameter.name;
    CHECK(difference(*kernels, {{block, parameter.least}}, {{7, 19, 63, 64, 65, 257}, {200}, {}}) == "");
    if (kernels->name == std::string("several")) continue;
    if (parameter.least < 64) CHECK(difference(*kernels, {{block, 64}}, {{63, 65}, {200}, {}}) == "");
    CHECK(difference(*kernels, {{block, 512}}, {{511, 512, 513}, {600}, {}}) == "");
    CHECK(difference(*kernels, {{block, 4096}}, {{}, {4100}, {4096, 9000}}) == "");
    // Blocks of several chunks of a reduction.
    if (kernels->name == std::string("block_orders")) {
      CHECK(difference(*kernels, {{block, 65536}}, {{}, {}, {8192, 12289, 140001}}) == "");
    }
  }
}

TEST_CASE("emulated kernels: blocks that are rotated, next to statistics of smaller and of larger ones") {
  for (const double size : {16, 32, 128}) {
    for (const double block : {16, 128, 256, 4096}) {
      const Parameters parameters = {{"rotated", size}, {"block", block}};
      CHECK(difference(kernels_of("rht4"), parameters, {{1, 15, 127, 257}, {200}, {9001}}) == "");
    }
  }
  for (const double size : {1, 2, 8, 32}) {
    for (const double block : {16, 256}) {
      const Parameters parameters = {{"small", size}, {"block", block}};
      CHECK(difference(kernels_of("turned"), parameters, {{2, 31, 130}, {135}, {4099}, {1000, 0, 37, 4096}}) == "");
    }
  }
}

TEST_CASE("emulated kernels: the text with a merge that takes the greatest has the kernels that are run here") {
  const Source source("fp16.cll", source_of("fp16"));
  const Result<Program> program = compile(source);
  REQUIRE(program.is_ok());
  const CudaText given = *cuda_text(*program, *lower(*program, source), source);
  const CudaText greatest = cuda_greatest_text(given, "greatest");
  CHECK(greatest.codec == "greatest");
  CHECK(greatest.kernels ==
        std::vector<std::string>{"casync_greatest_encode", "casync_greatest_merge", "casync_greatest_decode"});
  CHECK(greatest.shape.slots == given.shape.slots);
  CHECK(greatest.text.starts_with("#include \"compll/ops/cuda/greatest.cuh\"\n" + given.text));
  for (const char* body :
       {"encode_tile<codec_fp16::Codec, Gradient>(launch);", "decode_tile<codec_fp16::Codec>(launch);",
        "encode_tile<codec_fp16::Codec, Greatest<codec_fp16::Decoder>>(launch);"}) {
    CHECK(greatest.text.find(body) != std::string::npos);
  }
}

TEST_CASE(
    "emulated kernels: a merge takes the greatest of each element, NaN first, and says if all of that is finite") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<float>> specials = {
      {1, -0.0f, -infinity, infinity}, {-infinity, 0, -infinity, 2}, {nan, -1, 7, nan}, {3, -0.0f, -infinity, -nan}};
  const auto begins_with = [](const std::vector<float>& some, Elements n, std::uint32_t seed) {
    std::vector<float> values = gaussian(n, seed);
    for (std::size_t i = 0; i < some.size() && i < n; ++i) values[i] = some[i];
    return values;
  };
  const Written sum = test::meaning_of("sum", {});
  for (const emulated::Order order : {emulated::Order::kForward, emulated::Order::kBackward}) {
    for (const Elements n : {0, 1, 3, 130, 4096, 4099, 9001}) {
      for (std::size_t codes = 0; codes <= 4; ++codes) {
        for (const std::size_t shift : {0, 1}) {
          for (const bool is_finite : {true, false}) {
            INFO(n << " elements, " << codes << " codes, off by " << shift << (is_finite ? "" : ", with specials"));
            test::Job job;
            job.n = n;
            job.scale = 0.25f;  // has no part in it
            job.shift = shift;
            job.raw_behind = 2;
            job.keeps_residual = false;
            std::vector<std::vector<float>> terms;
            for (std::uint32_t t = 0; t < codes; ++t) {
              terms.push_back(begins_with(is_finite ? std::vector<float>() : specials[t], n, t));
              job.codes.push_back(encode(*sum.codec, terms.back()));
            }
            if (codes < 4 && n > 0) {
              job.raw = gaussian(n, 9);
              terms.insert(terms.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(codes, 2)), job.raw);
            }
            std::vector<float> expected(n);
            bool finite = true;
            for (Elements i = 0; i < n; ++i) {
              expected[i] = terms[0][i];
              for (const auto& term : terms) {
                if (term[i] > expected[i] || std::isnan(term[i])) expected[i] = term[i];
              }
              finite = finite && std::isfinite(expected[i]);
            }
            test::EmulatedDevice device(order);
            test::KernelCodec kernels(*casync_greatest_kernels(), *sum.codec, device);
            const Coded made = kernels.merge(std::span(&job, 1)).front();
            CHECK(made.finite == finite);
            REQUIRE(made.payload.size() == 16 + n * sizeof(float));
            CHECK((n == 0 || std::memcmp(made.payload.data() + 16, expected.data(), n * sizeof(float)) == 0));
            CHECK(kernels.launches() == 1);
            CHECK_FALSE(kernels.wrote_outside());
          }
        }
      }
    }
  }
}

}  // namespace casync::compll
