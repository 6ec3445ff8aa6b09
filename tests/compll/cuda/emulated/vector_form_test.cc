// SPDX-License-Identifier: Apache-2.0
//
// Kernels of programs in vector form, run on this host, give the interpreter's bytes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "compll/codegen/cuda/vector.h"
#include "compll/lang/front_end.h"
#include "tests/compll/cuda/emulated/device.h"
#include "tests/compll/cuda/support/codecs.h"
#include "tests/compll/cuda/support/compare.h"

namespace casync::compll {
namespace {

using emulated::Order;

std::string difference(const cuda::VectorFormKernels& kernels, const Parameters& parameters,
                       const test::Comparison& comparison,
                       const std::vector<std::pair<Order, std::uint32_t>>& runs = {{Order::kForward, 7},
                                                                                   {Order::kBackward, 2}}) {
  const Written meaning = test::meaning_of(kernels.name, parameters);
  std::deque<test::EmulatedDevice> owned;
  std::vector<test::KernelDevice*> devices;
  for (const auto& [order, blocks] : runs) devices.push_back(&owned.emplace_back(order, blocks));
  return test::difference(kernels, *meaning.codec, devices, comparison);
}

const cuda::VectorFormKernels& kernels_of(const std::string& name) {
  for (const cuda::VectorFormKernels* each : test::kernels_of_vector_form()) {
    if (each->name == name) return *each;
  }
  throw std::runtime_error("no kernels of " + name);
}

}  // namespace

TEST_CASE(
    "emulated kernels in vector form: every codec that text can be written from is here, of one kind or the other") {
  for (const std::string& name : written_names()) {
    const Source source(name + ".cll", source_of(name));
    const Result<Program> program = compile(source);
    REQUIRE(program.is_ok());
    const bool can = cuda_vector_text(*program, source).is_ok();
    const auto is_named = [&](const auto* each) { return each->name == name; };
    const auto& tiles = test::kernels_of_codecs();
    const auto& vector = test::kernels_of_vector_form();
    INFO(name);
    CHECK(can ==
          (std::any_of(tiles.begin(), tiles.end(), is_named) || std::any_of(vector.begin(), vector.end(), is_named)));
  }
}

TEST_CASE("emulated kernels in vector form: a merge has the statistics of blocks of any size, where decode scatters") {
  for (const double block : {1, 7, 48, 64, 100, 333, 1000, 4096, 5000}) {
    CHECK(difference(kernels_of("scattered_blocks"), {{"block", block}}, {{130}, {130, 5003}, {}}) == "");
  }
  for (const double bin : {48, 112, 1008}) {
    CHECK(difference(kernels_of("adacomp"), {{"bin", bin}}, {{}, {130, 5003}, {}}) == "");
  }
}

TEST_CASE("emulated kernels in vector form: arrays of blocks are read where all tiles have stored them") {
  for (const double block : {1, 48, 1000}) {
    CHECK(difference(kernels_of("block_arrays"), {{"block", block}}, {{130}, {130}, {12301}}) == "");
  }
}

TEST_CASE("emulated kernels in vector form: the bytes are the interpreter's") {
  for (const cuda::VectorFormKernels* kernels : test::kernels_of_vector_form()) {
    INFO(kernels->name);
    CHECK(difference(*kernels, {}, {{0, 1, 3, 16, 17, 129, 300}, {1, 130}, {4096, 4099, 12301}}) == "");
  }
}

TEST_CASE("emulated kernels in vector form: gradients in half precision are read and rounded as the host does it") {
  for (const auto& [dtype, order] :
       {std::pair{DType::kFloat16, Order::kForward}, {DType::kBFloat16, Order::kBackward}}) {
    const test::Comparison halves = {{1, 17, 300}, {130}, {4099}, {0, 5, 2, 3, 4100}, dtype};
    for (const cuda::VectorFormKernels* kernels : test::kernels_of_vector_form()) {
      INFO(kernels->name);
      CHECK(difference(*kernels, {}, halves, {{order, 7}}) == "");
    }
  }
}

TEST_CASE("emulated kernels in vector form: one block of threads does it, and as many as there are tiles") {
  const test::Comparison mixed = {{}, {4099}, {}, {0, 8300, 5, 4096, 0, 4097, 1}};
  for (const cuda::VectorFormKernels* kernels : test::kernels_of_vector_form()) {
    INFO(kernels->name);
    CHECK(difference(*kernels, {}, mixed, {{Order::kForward, 1}, {Order::kBackward, 7}}) == "");
  }
  CHECK(difference(kernels_of("dgc"), {}, mixed, {{Order::kForward, 1000}, {Order::kRandom, 3}}) == "");
}

TEST_CASE("emulated kernels in vector form: a result lies where it is made of, also of other tiles' elements") {
  CHECK(difference(kernels_of("shifted"), {}, {{51}, {}, {4200, 12289}},
                   {{Order::kForward, 1}, {Order::kBackward, 7}}) == "");
}

TEST_CASE("emulated kernels in vector form: places are picked across tiles, equal ones and missing ones, too") {
  for (const char* name : {"topk", "dgc", "stc", "threshold", "mstopk", "graddrop"}) {
    CHECK(difference(kernels_of(name), {}, {{8300}, {8300}, {140001}}) == "");
  }
  for (const double ratio : {1e-6, 0.5, 1.0}) {
    CHECK(difference(kernels_of("topk"), {{"ratio", ratio}}, {{5, 4200}, {}, {12289}}) == "");
  }
  CHECK(difference(kernels_of("sorts"), {}, {{8300}, {}, {}}) == "");
  CHECK(difference(kernels_of("randomk"), {{"run", 1}}, {{5, 300}, {300}, {9001}}) == "");
}

TEST_CASE("emulated kernels in vector form: the k-th largest across tiles, of none and of more than there are") {
  for (const double k : {0, 1, 4096, 12301, 1000000}) {
    for (const double part : {1, 100}) {
      INFO("k " << k << ", one of " << part);
      CHECK(difference(kernels_of("kth"), {{"k", k}, {"part", part}}, {{2, 300}, {4200}, {12301}}) == "");
    }
  }
}

TEST_CASE("emulated kernels in vector form: blocks of every size, also those that are no power of two") {
  CHECK(difference(kernels_of("long_turns"), {{"block", 16}}, {{31, 32, 33}, {40}, {4100}}) == "");
  CHECK(difference(kernels_of("long_turns"), {{"block", 8192}}, {{300}, {300}, {4100, 20011}}) == "");
  CHECK(difference(kernels_of("long_turns"), {{"rotated", 4096}}, {{1023, 1025}, {1100}, {9001}}) == "");
  CHECK(difference(kernels_of("long_turns"), {{"rotated", 16}, {"block", 4096}}, {{17, 4095}, {}, {9001}}) == "");
  // More chunks of a reduction than it has lanes, of the tensor and of a block.
  CHECK(difference(kernels_of("orders"), {{"block", 16}}, {{63, 64, 65}, {200}, {}}) == "");
  CHECK(difference(kernels_of("orders"), {{"block", 65536}}, {{}, {}, {8192, 12289, 140001}}) == "");
  CHECK(difference(kernels_of("adacomp"), {{"bin", 48}}, {{47, 49, 300}, {300}, {13001}}) == "");
}

TEST_CASE("emulated kernels in vector form: values that only some parameters ask for are there with these") {
  CHECK(difference(kernels_of("terngrad"), {{"clip", 2.5}}, {{1, 300}, {130}, {12301}}) == "");
  CHECK(difference(kernels_of("dgc"), {{"clip", 1}}, {{1, 300}, {130}, {12301}}) == "");
}

TEST_CASE("emulated kernels in vector form: bytes of five trits are one tile's, wherever tiles end") {
  const std::vector<std::pair<Order, std::uint32_t>> runs = {
      {Order::kForward, 1}, {Order::kForward, 2}, {Order::kBackward, 7}};
  for (const char* name : {"trits", "trits_vector", "narrow"}) {
    INFO(name);
    CHECK(difference(kernels_of(name), {}, {{4, 5, 6, 99, 101, 199}, {11}, {20481}}, runs) == "");
    CHECK(difference(kernels_of(name), {}, {{}, {}, {}, {4096, 40961, 3, 20480}}, runs) == "");
  }
  CHECK(difference(kernels_of("trits"), {{"block", 48}}, {{49}, {}, {61441}}, runs) == "");
}

}  // namespace casync::compll
