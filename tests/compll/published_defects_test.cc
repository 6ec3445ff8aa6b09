// SPDX-License-Identifier: Apache-2.0
//
// Mistakes that public implementations of these algorithms make, or made: none of the compiled codecs has them. Each
// case names where the mistake was read.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "tests/compll/support/inputs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {
namespace {

constexpr std::uint32_t kSteps = 400;

std::size_t count_of_sent(std::span<const float> decoded) {
  return decoded.size() - static_cast<std::size_t>(std::count(decoded.begin(), decoded.end(), 0.0f));
}

/// Number of elements outside of a range, NaN among them.
std::ptrdiff_t count_outside(std::span<const float> decoded, float least, float most) {
  return std::count_if(decoded.begin(), decoded.end(), [&](float x) { return !(x >= least && x <= most); });
}

std::vector<float> at_step(const Codec& codec, std::span<const float> x, std::uint32_t step, std::uint64_t seed = 0) {
  return decode(codec, encode(codec, x, {}, {.seed = seed, .gradient = 0, .step = step, .first = 0}), x.size());
}

double squared_error(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - b[i], 2);
  return sum;
}

}  // namespace

TEST_CASE("defects: codes come back at their own places, whatever the size is modulo a byte's codes") {
  // CompLL's published TernGrad sample: overlapping windows, bits in one order there and in another here, a pad count
  // of n mod 2^bits.
  for (const char* name : {"tbq", "twobit", "int2", "int4", "minmax", "onebit"}) {
    const auto codec = codec_of(
        name, std::string(name) == "tbq" || std::string(name) == "twobit" ? Parameters{{"tau", 1.0}} : Parameters{});
    for (Elements n = 1; n <= 70; ++n) {
      std::vector<float> x;
      for (Elements i = 0; i < n; ++i) x.push_back(i * i % 7 % 3 == 0 ? -1.0f : 1.0f);
      INFO(name << ", n " << n);
      // One or two values, which each of these codecs tells exactly.
      const std::vector<float> decoded = round_trip(*codec, x);
      std::size_t wrong = 0;
      for (Elements i = 0; i < n; ++i) wrong += !(std::fabs(decoded[i] - x[i]) <= 1e-6f);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("defects: gradients that are all negative, or all below one in magnitude, have a maximum, too") {
  // HiPress seeds reductions by +-99999, PCCL a maximum by the least positive float.
  for (const char* name : {"int8", "int4", "minmax", "fp8_e4m3", "terngrad", "sbc", "stc", "topk", "adaq"}) {
    const auto codec = codec_of(name);
    for (const float scale : {-1e30f, -1.0f, -1e-30f}) {
      std::vector<float> x(300);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = scale * (1.0f + static_cast<float>(i % 5));
      const std::vector<float> decoded = round_trip(*codec, x);
      INFO(name << ", scale " << scale);
      CHECK(count_of_sent(decoded) > 0);
      CHECK(count_outside(decoded, 5.01f * scale, 0) == 0);
    }
  }
}

TEST_CASE("defects: random rounding stays within the levels, and leaves what is a level as it is") {
  // floor(r + u) gives a level too many where r + u rounds up to the next whole number.
  for (const char* name : {"minmax", "qsgd", "terngrad", "natural", "natural_dithering", "diana"}) {
    const auto codec = codec_of(name);
    std::vector<float> x(256, 0.0f);
    for (std::size_t i = 0; i < x.size(); i += 2) x[i] = i % 4 == 0 ? 1.0f : -1.0f;
    if (std::string(name) == "minmax") std::replace(x.begin(), x.end(), 0.0f, 1.0f);    // its levels are its ends
    if (std::string(name) == "qsgd") std::fill(x.begin(), x.end(), 0.0f), x[3] = 1.0f;  // the norm is its one element
    std::size_t wrong = 0;
    for (std::uint32_t step = 0; step < kSteps; ++step) {
      const std::vector<float> decoded = at_step(*codec, x, step);
      for (std::size_t i = 0; i < x.size(); ++i) wrong += !(std::fabs(decoded[i] - x[i]) <= 1.5f / 15);
    }
    INFO(name);
    CHECK(wrong == 0);
    const std::vector<float> decoded = at_step(*codec, x, 1);
    CHECK(count_outside(decoded, -1, 1) == 0);
  }
}

TEST_CASE("defects: small gradients are gradients") {
  // 1e-8 (HiPress), 1e-7 (Bagua), 1e-6 (HiPress, CGX), 1e-10 (GRACE) are added to scales or taken for zero.
  for (const char* name :
       {"int8", "int4",   "int2",  "onebit",     "efsign",      "fp8_e4m3", "fp8_e5m2", "mxfp4",    "rht4",
        "topk", "stc",    "sbc",   "graddrop",   "natural",     "qsgd",     "minmax",   "terngrad", "natural_dithering",
        "nf4",  "lloyd2", "drive", "topk_lloyd", "subsampling", "nvfp4"}) {
    const auto codec = codec_of(name);
    const std::vector<float> x = gaussian(1000, 5);
    const std::vector<float> whole = at_step(*codec, x, 3);
    for (const int power : {-70, -40, -20}) {
      std::vector<float> small = x, wanted = whole;
      for (float& one : small) one = std::ldexp(one, power);
      for (float& one : wanted) one = std::ldexp(one, power);
      INFO(name << ", times 2^" << power);
      CHECK(same_bytes(at_step(*codec, small, 3), wanted));
    }
  }
}

TEST_CASE("defects: nothing comes of nothing, at any size") {
  // GRACE's QSGD, natural compression and 8 bits divide 0 by 0; BytePS converts NaN to an unsigned number; a threshold
  // of 0 with >= selects everything, and some implementations ask for k <= n / 2.
  for (const std::string& name : codec_names()) {
    const auto codec = codec_of(name);
    for (const Elements n : {1, 2, 3, 63, 64, 65, 1000}) {
      const std::vector<float> zeros(n, 0.0f);
      const Coded coded = encode(*codec, zeros);
      INFO(name << ", n " << n);
      CHECK(coded.finite);
      if (name == "signsgd") continue;  // has no zero
      CHECK(count_of_sent(decode(*codec, coded, n)) == 0);
    }
  }
}

TEST_CASE("defects: a share of one sends all there is, within the payload") {
  // HiPress: a quantile beyond the sample at ratio 1, and copy_if of n places into an output of k.
  for (const char* name : {"topk", "mstopk", "graddrop", "dgc", "stc", "sbc", "randomk"}) {
    const auto codec = codec_of(name, {{"ratio", 1.0}});
    for (const Elements n : {1, 2, 255, 256, 257, 5000}) {
      const std::vector<float> same(n, 0.25f);
      const Coded coded = encode(*codec, same);
      INFO(name << ", n " << n);
      CHECK(coded.payload.size() <= codec->encoded_bound(n));
      CHECK(codec->check(coded.view(), n).is_ok());
      const std::vector<float> decoded = decode(*codec, coded, n);
      CHECK(count_of_sent(decoded) == n);
      CHECK(std::fabs(decoded[n / 2] - 0.25f) < 1e-6f);
    }
  }
}

TEST_CASE("defects: MSTopK finds some of equal elements, and no more than asked for") {
  // The published search begins with a threshold that ties defeat.
  const auto codec = codec_of("mstopk", {{"ratio", 0.1}});
  for (const float value : {1.0f, -1.0f, 1e-20f}) {
    std::vector<float> x(1000, value);
    const std::size_t all_equal = count_of_sent(round_trip(*codec, x));
    CHECK(all_equal > 0);
    CHECK(all_equal <= 100);
    x[10] = 3 * value;
    CHECK(round_trip(*codec, x)[10] == 3 * value);
  }
}

TEST_CASE("defects: random-k draws without putting back, and others places in another step") {
  // BytePS draws with replacement and sends the places, though both sides could draw them.
  const auto codec = codec_of("randomk", {{"ratio", 0.25}, {"run", 1.0}});
  const std::vector<float> ones(4096, 1.0f);
  std::set<std::vector<bool>> seen;
  for (std::uint32_t step = 0; step < 20; ++step) {
    const std::vector<float> decoded = at_step(*codec, ones, step);
    CHECK(count_of_sent(decoded) == 1024);
    std::vector<bool> places;
    for (const float one : decoded) places.push_back(one != 0);
    seen.insert(places);
  }
  CHECK(seen.size() == 20);
}

TEST_CASE("defects: random numbers follow from seed and step, and neighbours do not follow from one another") {
  // HiPress seeds a 32-bit generator by the clock and the thread: neighbours form an arithmetic progression.
  const auto codec = codec_of("natural");
  const std::vector<float> x(4096, 1.5f);  // becomes 1 or 2, each with probability 1/2
  const std::vector<float> first = at_step(*codec, x, 1);
  CHECK(same_bytes(first, at_step(*codec, x, 1)));
  CHECK_FALSE(same_bytes(first, at_step(*codec, x, 2)));
  CHECK_FALSE(same_bytes(first, at_step(*codec, x, 1, 7)));
  for (const std::size_t lag : {1, 2, 3, 4, 16, 64, 256}) {
    double product = 0;
    for (std::size_t i = 0; i + lag < x.size(); ++i) product += (first[i] - 1.5) * (first[i + lag] - 1.5) * 4;
    INFO("lag " << lag);
    CHECK(std::fabs(product) < 5 * std::sqrt(static_cast<double>(x.size())));  // five standard deviations
  }
}

TEST_CASE("defects: a size that is a multiple of the block has no block more") {
  // PyTorch's quantization hook pads a whole extra block then.
  for (const char* name : {"int8", "int4", "minmax", "qsgd", "fp8_e4m3"}) {
    const auto codec = codec_of(name);
    const Elements block = codec->info().block;
    INFO(name << ", blocks of " << block);
    CHECK(codec->encoded_bound(4 * block) < codec->encoded_bound(4 * block + 1));
    const double bytes = static_cast<double>(64 * block) * codec->info().bits_per_element / 8;
    CHECK(static_cast<double>(codec->encoded_bound(64 * block)) < bytes + 64);  // header and padding
  }
}

TEST_CASE("defects: signs with a scale are nearer to a sparse gradient than nothing is") {
  // DeepSpeed's 1-bit Adam scales by the root of the mean square: farther away than zero where few elements are large.
  for (const char* name : {"onebit", "efsign"}) {
    const auto codec = codec_of(name);
    std::vector<float> x(2048, 0.0f);
    for (const std::size_t few : {1, 2, 20, 200}) {
      for (std::size_t i = 0; i < few; ++i) x[i * 7] = i % 2 == 0 ? 1.0f : -1.0f;
      const std::vector<float> zeros(x.size(), 0.0f);
      INFO(name << ", " << few << " elements");
      CHECK(squared_error(round_trip(*codec, x), x) < squared_error(zeros, x));
    }
  }
}

TEST_CASE("defects: a constant gradient is not clipped away") {
  // TernGrad clips at 2.5 standard deviations, which is 0 here.
  const auto codec = codec_of("terngrad");
  for (const float value : {3.0f, -1e-12f}) {
    const std::vector<float> x(500, value);
    CHECK(same_bytes(round_trip(*codec, x), x));
  }
}

TEST_CASE("defects: ECQ-SGD keeps signs, and its last code") {
  // HiPress stores |g + alpha h|, and leaves out the last byte.
  const auto codec = codec_of("ecqsgd");
  for (const Elements n : {1, 2, 3, 8, 127, 128, 129}) {
    std::vector<double> mean(n, 0.0);
    std::vector<float> x(n);
    for (Elements i = 0; i < n; ++i) x[i] = i % 2 == 0 ? -1.0f : 0.5f;
    x[n - 1] = -2.0f;
    for (std::uint32_t step = 0; step < kSteps; ++step) {
      const std::vector<float> decoded = at_step(*codec, x, step);
      for (Elements i = 0; i < n; ++i) mean[i] += decoded[i] / kSteps;
    }
    std::size_t wrong = 0;
    for (Elements i = 0; i < n; ++i) wrong += !(mean[i] * x[i] > 0);
    INFO("n " << n);
    CHECK(wrong == 0);
    CHECK(mean[n - 1] < -1);
  }
}

}  // namespace casync::compll
