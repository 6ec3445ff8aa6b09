// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/compll/support/inputs.h"
#include "tests/compll/support/instruction_sets.h"
#include "tests/compll/support/reference_codec.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {
namespace {

std::vector<float> sum_of(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> sum(a.size());
  std::transform(a.begin(), a.end(), b.begin(), sum.begin(), [](float x, float y) { return x + y; });
  return sum;
}

// Empty when the codec does what the plain loops do, else what differs.
std::string difference(const Codec& codec, const Expected& expected, const Coded& coded, Elements n) {
  if (coded.payload != expected.payload) return "payload";
  if (coded.finite != expected.finite) return "finite";
  if (expected.finite && !same_bytes(coded.residual, expected.residual)) return "residual";
  return codec.check(coded.view(), n).message();
}

}  // namespace

TEST_CASE("bytes: every instruction set writes what the plain loops write") {
  REQUIRE(instruction_sets().size() >= 2);
  const auto codecs = all_codecs();
  for (Elements n : sizes()) {
    const std::vector<float> residual = gaussian(n, 17);
    for (const Input& input : inputs(n)) {
      const std::vector<float> p = sum_of(input.values, residual);
      for (const auto& codec : codecs) {
        const Expected plain = reference_encode(codec->info(), input.values);
        const Expected with_residual = reference_encode(codec->info(), p);
        for (const std::string& set : instruction_sets()) {
          const UseInstructionSet use(set);
          INFO(title(*codec) << ", " << input.name << ", n " << n << ", " << set);
          CHECK(difference(*codec, plain, encode(*codec, input.values), n) == "");
          CHECK(difference(*codec, with_residual, encode(*codec, input.values, residual), n) == "");
        }
      }
    }
  }
}

TEST_CASE("bytes: whole blocks of every size, and whole chunks of a sum, are encoded like others") {
  for (const Elements n : {255, 256, 257, 4095, 4096, 4097, 8192, 65536}) {
    for (const std::vector<float>& x : {gaussian(n, 11), laplace(n, 12)}) {
      for (const auto& codec : all_codecs()) {
        const Expected expected = reference_encode(codec->info(), x);
        for (const std::string& set : instruction_sets()) {
          const UseInstructionSet use(set);
          INFO(title(*codec) << ", n " << n << ", " << set);
          CHECK(difference(*codec, expected, encode(*codec, x), n) == "");
        }
      }
    }
  }
}

TEST_CASE("bytes: decoding is the input less the residual, and the same on every instruction set") {
  for (Elements n : sizes()) {
    const std::vector<float> x = laplace(n, 4), before = gaussian(n, 9);
    for (const auto& codec : all_codecs()) {
      const Coded coded = encode(*codec, x);
      for (const std::string& set : instruction_sets()) {
        const UseInstructionSet use(set);
        INFO(title(*codec) << ", n " << n << ", " << set);
        const std::vector<float> decoded = decode(*codec, coded, n);
        std::vector<float> residual(n), added = before;
        for (Elements i = 0; i < n; ++i) residual[i] = x[i] - decoded[i];
        CHECK(same_bytes(residual, coded.residual));
        codec->decode_add(coded.view(), n, added.data());
        CHECK(same_bytes(added, sum_of(before, decoded)));
      }
    }
  }
}

TEST_CASE("bytes: floats at any multiple of 4 and payloads at any address") {
  const Elements n = 4099;
  const std::vector<float> x = gaussian(n, 6), residual = gaussian(n, 7);
  for (const auto& codec : all_codecs()) {
    const Coded expected = encode(*codec, x, residual);
    const Bytes size = codec->encoded_bound(n);
    for (const std::string& set : instruction_sets()) {
      const UseInstructionSet use(set);
      for (std::size_t shift : {1, 2, 3, 5}) {
        INFO(title(*codec) << ", shift " << shift << ", " << set);
        std::vector<float> in(n + shift), before(n + shift), after(n + shift), out(n + shift);
        std::copy(x.begin(), x.end(), in.begin() + static_cast<std::ptrdiff_t>(shift));
        std::copy(residual.begin(), residual.end(), before.begin() + static_cast<std::ptrdiff_t>(shift));
        std::vector<std::byte> payload(size + shift);
        codec->encode(in.data() + shift, n, {before.data() + shift, after.data() + shift}, {}, payload.data() + shift);
        CHECK(std::memcmp(payload.data() + shift, expected.payload.data(), size) == 0);
        CHECK(same_bytes(std::span(after).subspan(shift), expected.residual));
        codec->decode({payload.data() + shift, size}, n, out.data() + shift);
        CHECK(same_bytes(std::span(out).subspan(shift), decode(*codec, expected, n)));
      }
    }
  }
}

TEST_CASE("bytes: large gradients, which are written past the caches, are encoded and decoded alike") {
  const Elements n = (Elements{1} << 22) + 37;
  const std::vector<float> x = gaussian(n, 8);
  float* aligned = nullptr;
  std::vector<float> memory(n + 16);
  for (float& at : memory) {
    if (reinterpret_cast<std::uintptr_t>(&at) % 64 == 0) {
      aligned = &at;
      break;
    }
  }
  REQUIRE(aligned != nullptr);
  for (const std::string& name : first_names()) {
    INFO(name);
    const auto codec = codec_of(name);
    const Expected expected = reference_encode(codec->info(), x);
    std::vector<std::byte> payload(codec->encoded_bound(n));
    codec->encode(x.data(), n, {nullptr, aligned}, {}, payload.data());
    CHECK((payload == expected.payload));
    CHECK(same_bytes({aligned, n}, expected.residual));
    codec->decode({payload.data(), payload.size()}, n, aligned);
    for (Elements i = 0; i < n; ++i) aligned[i] = x[i] - aligned[i];
    CHECK(same_bytes({aligned, n}, expected.residual));
  }
}

}  // namespace casync::compll
