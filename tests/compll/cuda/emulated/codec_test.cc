// SPDX-License-Identifier: Apache-2.0
//
// Codecs on a GPU, which this host emulates: from the text to what comes back.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

#include "tests/compll/cuda/emulated/program.h"
#include "tests/compll/cuda/support/codecs.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/round_ranks.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {
namespace {

using emulated::CodecOnDevice;
using emulated::ProgramOnDevice;

bool equal(const Coded& a, const Coded& b) {
  return a.payload == b.payload && a.finite == b.finite && same_bytes(a.residual, b.residual);
}

Coded encode_sum(const Codec& codec, const std::vector<float>& sum) {
  Coded coded;
  coded.payload.resize(codec.encoded_bound(sum.size()));
  coded.residual.resize(codec.info().states * sum.size());
  const Residual residual{nullptr, coded.residual.data(), sum.size()};
  coded.finite = codec.encode_sum(sum.data(), 0.25f, sum.size(), residual, {3, 4, 5, 6}, coded.payload.data()).finite;
  return coded;
}

Coded merge(const Codec& codec, const std::vector<Coded>& codes, const std::vector<float>& raw) {
  const Elements n = raw.size();
  std::vector<Contribution> terms;
  for (const Coded& code : codes) terms.push_back({code.view(), nullptr});
  if (!codec.info().coded_terms) terms.insert(terms.begin() + 1, {{}, raw.data()});
  Coded coded;
  coded.payload.resize(codec.encoded_bound(n));
  coded.residual.resize(codec.info().states * n);
  const Residual residual{nullptr, coded.residual.data(), n};
  coded.finite = codec.merge(terms, n, 0.5f, codec, residual, {9, 8, 7, 0}, coded.payload.data()).finite;
  return coded;
}

/// Names what differs from the interpreter, or what else went wrong; "" if nothing.
std::string difference(const CodecOnDevice& both, Elements n) {
  const Codec &kernel = *both.codec, &meaning = *both.meaning;
  const std::vector<float> x = gaussian(n, 1), y = laplace(n, 2), before = gaussian(kernel.info().states * n, 3);
  const EncodeContext context{11, 12, 13, 16};
  const Coded coded = encode(kernel, x, before, context);
  if (!equal(coded, encode(meaning, x, before, context))) return "encode";
  if (!kernel.check(coded.view(), n).is_ok()) return "check";
  if (!equal(encode(kernel, x, {}, context), encode(meaning, x, {}, context))) return "encode, from the beginning";
  if (!equal(encode_sum(kernel, y), encode_sum(meaning, y))) return "encode_sum";
  const std::vector<Coded> codes = {coded, encode(meaning, y), encode(meaning, x)};
  if (!equal(merge(kernel, codes, y), merge(meaning, codes, y))) return "merge";
  const std::vector<float> decoded = decode(meaning, coded, n);
  if (!same_bytes(decode(kernel, coded, n), decoded)) return "decode";
  std::vector<float> is = y, should = y;
  kernel.decode_add(coded.view(), n, is.data());
  meaning.decode_add(coded.view(), n, should.data());
  if (!same_bytes(is, should)) return "decode_add";
  if (kernel.info().has_result) {
    std::vector<float> states(before.size()), wanted(before.size());
    kernel.result(decoded.data(), n, {before.data(), states.data(), n}, context, is.data());
    meaning.result(decoded.data(), n, {before.data(), wanted.data(), n}, context, should.data());
    if (!same_bytes(is, should) || !same_bytes(states, wanted)) return "result";
  }
  return both.codec->wrote_outside() ? "writing" : both.device->status().is_ok() ? "" : both.device->status().message();
}

}  // namespace

TEST_CASE("codecs on a GPU: the bytes are the interpreter's, of every codec") {
  for (const std::string& name : written_names()) {
    const CodecOnDevice both(name);
    INFO(name);
    for (const Elements n : {0, 1, 3, 130, 4097}) CHECK(difference(both, n) == "");
  }
}

TEST_CASE("codecs on a GPU: with other parameters") {
  CHECK(difference(CodecOnDevice("int4", {{"block", 4096}, {"feedback", 0}}), 9001) == "");
  CHECK(difference(CodecOnDevice("topk", {{"ratio", 0.5}}), 9001) == "");
}

TEST_CASE("codecs on a GPU: a tile may have more equal elements than a count of ties has bits for") {
  const CodecOnDevice both("adacomp", {{"bin", 8208}});
  const std::vector<float> x((513 + 1) * 4096, 1.0f);  // 513 * 4096 is the least common multiple of 8208 and 4096
  CHECK(equal(encode(*both.codec, x), encode(*both.meaning, x)));
}

TEST_CASE("codecs on a GPU: elements that are not finite are reported") {
  for (const char* name : {"int8", "topk"}) {
    const CodecOnDevice both(name);
    std::vector<float> x = gaussian(300, 1);
    CHECK(encode(*both.codec, x).finite);
    x[200] = std::numeric_limits<float>::quiet_NaN();
    CHECK(equal(encode(*both.codec, x), encode(*both.meaning, x)));
    CHECK_FALSE(encode(*both.codec, x).finite);
  }
}

TEST_CASE("codecs on a GPU: codes are merged into another codec's by way of the host") {
  const CodecOnDevice first("onebit");
  const std::unique_ptr<Codec> second = codec_of("int4");
  const Coded a = encode(*first.codec, gaussian(300, 1)), b = encode(*first.codec, gaussian(300, 2));
  const Contribution terms[] = {{a.view(), nullptr}, {b.view(), nullptr}};
  std::vector<std::byte> is(second->encoded_bound(300)), should = is;
  first.codec->merge(terms, 300, 0.5f, *second, {}, {}, is.data());
  first.meaning->merge(terms, 300, 0.5f, *second, {}, {}, should.data());
  CHECK(is == should);
}

TEST_CASE("codecs on a GPU: turns of a codec that exchanges within a step") {
  ProgramOnDevice both("powersgd");
  const auto meaning = make_rounds_program(both.program);
  REQUIRE(meaning.is_ok());
  const auto kernel = make_cuda_rounds(*both.device, both.modules(), *both.text, **meaning);
  REQUIRE(kernel.status().text() == "OK");
  for (const auto& [rows, columns] : {std::pair<Elements, Elements>{0, 3}, {1, 1}, {7, 5}, {40, 33}, {129, 128}}) {
    CHECK((*kernel)->shape(rows, columns).exchanged == (*meaning)->shape(rows, columns).exchanged);
    RoundRanks is(**kernel, 2, rows, columns), should(**meaning, 2, rows, columns);
    for (std::uint32_t step = 0; step < 2; ++step) {
      const std::vector<std::vector<float>> gradients = {gaussian(rows * columns, step), laplace(rows * columns, step)};
      const auto results = is.step(gradients, step, 0.5f), wanted = should.step(gradients, step, 0.5f);
      for (std::size_t rank = 0; rank < 2; ++rank) {
        CHECK(same_bytes(results[rank], wanted[rank]));
        CHECK(same_bytes(is.states(rank), should.states(rank)));
      }
    }
  }
  CHECK_FALSE((*kernel)->wrote_outside());
  CHECK(both.device->status().is_ok());
}

TEST_CASE("codecs on a GPU: the sizes that a kernel tells are those that a host computes") {
  for (const cuda::VectorFormKernels* each : test::kernels_of_vector_form()) {
    INFO(each->name);
    cuda::Settings settings;
    std::fill(std::begin(settings.parameters), std::end(settings.parameters), 32);
    for (const cuda::uint64_t n : {0, 1, 4097, 1000003}) {
      cuda::Sizes sizes;
      each->sizes(&sizes, {n, 1}, settings);
      CHECK(sizes.tile_elements == each->tile_elements(settings));
      const cuda::VectorFormFunction* functions[] = {&each->encode, &each->merge, &each->decode, &each->result};
      for (std::size_t i = 0; i < 4; ++i) {
        const bool is_there = functions[i]->kernel != nullptr;
        CHECK(sizes.memory_bytes[i] == (is_there ? functions[i]->memory_bytes(n, settings) : 0));
        CHECK(sizes.zeroed_bytes[i] == (is_there ? functions[i]->zeroed_bytes(n, settings) : 0));
      }
    }
  }
  for (const cuda::RoundsKernels* each : test::kernels_of_rounds()) {
    cuda::Settings settings;
    std::fill(std::begin(settings.parameters), std::end(settings.parameters), 4);
    const cuda::Matrix n{130, 70};
    cuda::Sizes sizes;
    each->sizes(&sizes, n, settings);
    CHECK(sizes.state_floats == each->state_floats(n, settings));
    CHECK(sizes.scratch_floats == each->scratch_floats(n, settings));
    for (std::uint32_t i = 0; i < each->rounds; ++i) {
      CHECK(sizes.exchanged_floats[i] == each->exchanged_floats(i, n, settings));
    }
    for (std::uint32_t i = 0; i <= each->rounds; ++i) {
      CHECK(sizes.memory_bytes[i] == each->turns[i].memory_bytes(n, settings));
      CHECK(sizes.zeroed_bytes[i] == each->turns[i].zeroed_bytes(n, settings));
    }
  }
}

TEST_CASE("codecs on a GPU: a module without a kernel is refused, a device that is not there, too") {
  ProgramOnDevice both("int4", "unknown");
  const auto meaning = make_program_codec(both.program);
  const auto made = make_cuda_codec(*both.device, both.modules(), *both.text, **meaning);
  CHECK(made.status().text() ==
        "Unavailable: this host: kernel casync_unknown_encode: named symbol not found (CUDA 500)");
  emulated::set_device_count(0);
  const Status none = CudaDevice::open(emulated::driver()).status();
  emulated::set_device_count(1);
  CHECK(none.text() == "Unavailable: the CUDA driver does not start: no CUDA-capable device is detected (CUDA 100)");
}

TEST_CASE("codecs on a GPU: blocks of two sizes that no tile has whole ones of are refused") {
  CHECK(difference(CodecOnDevice("two_blocks", {{"first", 17}, {"second", 61}}), 9001) == "");
  ProgramOnDevice both("two_blocks");
  // 17 * 61681 is 2^20 + 1, and that times 4096 is 4096 in 32 bits.
  const std::pair<std::string, double> blocks[] = {{"first", 17}, {"second", 61681}};
  const auto meaning = make_program_codec(both.program, blocks);
  REQUIRE(meaning.status().text() == "OK");
  const auto made = make_cuda_codec(*both.device, both.modules(), *both.text, **meaning);
  CHECK(made.status().text() ==
        "Unimplemented: codec `two_blocks` on a GPU: no tile has whole blocks of all its sizes; choose sizes whose "
        "least common multiple is smaller, as that of powers of two is");
  CHECK(both.device->status().is_ok());
}

TEST_CASE("codecs on a GPU: the first error stays, and functions give zeros from then on") {
  const CodecOnDevice both("topk");
  const std::vector<float> x = gaussian(300, 1);
  const Coded before = encode(*both.codec, x);
  emulated::break_device();
  const Coded after = encode(*both.codec, x);
  emulated::mend_device();
  CHECK(after.payload == std::vector<std::byte>(before.payload.size()));
  CHECK(decode(*both.codec, before, 300) == std::vector<float>(300));
  CHECK(both.device->status().text() ==
        "Unavailable: this host: a copy to the device: an illegal memory access was encountered (CUDA 700)");
}

}  // namespace casync::compll
