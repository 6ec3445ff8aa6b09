// SPDX-License-Identifier: Apache-2.0
//
// Patches between versions of weights in bfloat16.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "compll/codec/registry.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/programs.h"

namespace casync::compll {
namespace {

std::uint32_t word_of(float x) {
  std::uint32_t word;
  std::memcpy(&word, &x, sizeof word);
  return word;
}

float of_upper(std::uint32_t upper) {
  const std::uint32_t word = upper << 16;
  float x;
  std::memcpy(&x, &word, sizeof x);
  return x;
}

/// The nearest bfloat16, ties to even.
float rounded(float x) {
  const std::uint32_t word = word_of(x), upper = word >> 16, rest = word & 0xffff;
  return of_upper(upper + (rest > 0x8000 || (rest == 0x8000 && (upper & 1) != 0) ? 1 : 0));
}

std::vector<float> rounded(std::vector<float> x) {
  for (float& value : x) value = rounded(value);
  return x;
}

/// One side of a connection: the version that it has, zeros at first.
struct Side {
  const Codec& codec;
  std::vector<float> known;

  Coded send(const std::vector<float>& weights) {
    Coded coded = encode(codec, weights, known);
    if (coded.finite) known = coded.residual;
    return coded;
  }
  std::vector<float> receive(const Coded& coded) {
    const Elements n = known.size();
    const std::vector<float> decoded = decode(codec, coded, n);
    std::vector<float> next(n), version(n);
    codec.result(decoded.data(), n, {known.data(), next.data(), n}, {}, version.data());
    known = next;
    return version;
  }
};

/// Weights of float32 that a training moves by small steps, as wide as makes `share` of them change in bfloat16.
class Training {
 public:
  Training(Elements n, double rate) : weights_(gaussian(n, 11)), rate_(rate) {
    for (float& weight : weights_) weight *= 0.02f;
  }

  std::vector<float> step() {
    std::normal_distribution<double> step;
    for (float& weight : weights_) weight = static_cast<float>(weight + rate_ * step(random_));
    return weights_;
  }

 private:
  std::vector<float> weights_;
  const double rate_;
  std::mt19937 random_{3};
};

struct Change {
  double share = 0;  ///< of the elements
  double bits = 0;   ///< of information in a changed element: its place among all, and its steps
};

/// The information in the changes from one version to the next, by counting them.
Change change_between(const std::vector<float>& before, const std::vector<float>& after) {
  std::map<int, double> times;
  double changed = 0;
  const auto place = [](float x) {
    const int upper = static_cast<int>(word_of(x) >> 16);
    return upper < 0x8000 ? upper : 0x7fff - upper;
  };
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (word_of(before[i]) == word_of(after[i])) continue;
    ++changed;
    ++times[place(after[i]) - place(before[i])];
  }
  Change change;
  const double p = change.share = changed / static_cast<double>(before.size());
  change.bits = -(p * std::log2(p) + (1 - p) * std::log2(1 - p)) / p;
  for (const auto& [steps, count] : times) change.bits -= count / changed * std::log2(count / changed);
  return change;
}

}  // namespace

TEST_CASE("patch: each version arrives bit for bit, and compiled and interpreted send the same bytes") {
  const Written written = from_source("patch");
  const auto generated = codec_of("patch");
  for (const Elements n : {0u, 1u, 40u, 4097u, 9000u}) {
    Side sender{*generated, std::vector<float>(n)}, receiver{*generated, std::vector<float>(n)};
    Side other{*written.codec, std::vector<float>(n)}, other_receiver{*written.codec, std::vector<float>(n)};
    std::vector<float> version(n);
    for (const Input& input : inputs(n)) {
      INFO(input.name << ", n " << n);
      const Coded coded = sender.send(input.values), also = other.send(input.values);
      REQUIRE(coded.finite == also.finite);
      REQUIRE((coded.payload == also.payload));
      REQUIRE(generated->check(coded.view(), n).text() == "OK");
      const std::vector<float> arrived = receiver.receive(coded);
      REQUIRE(same_bytes(arrived, other_receiver.receive(coded)));
      REQUIRE(same_bytes(receiver.known, sender.known));
      if (!coded.finite) {
        CHECK(std::all_of(arrived.begin(), arrived.end(), [](float x) { return std::isnan(x); }));
        continue;
      }
      version = rounded(input.values);
      REQUIRE(same_bytes(arrived, version));
    }
    CHECK(same_bytes(receiver.known, version));
  }
}

TEST_CASE("patch: all 65,536 upper halves are told from each other, minus zero from zero") {
  std::vector<float> all, shuffled;
  for (std::uint32_t upper = 0; upper < 65536; ++upper) {
    if ((upper & 0x7f80) != 0x7f80) all.push_back(of_upper(upper));
  }
  shuffled = all;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(1));
  const auto codec = codec_of("patch");
  Side sender{*codec, std::vector<float>(all.size())}, receiver = sender;
  for (const auto& version : {all, shuffled, std::vector<float>(all.rbegin(), all.rend())}) {
    CHECK(same_bytes(receiver.receive(sender.send(version)), version));
  }
}

TEST_CASE("patch: weights of which 2 % change take at most 1.5 bytes for each of these, near to their information") {
  const Elements n = 1 << 20;
  const auto codec = codec_of("patch");
  for (const double rate : {1e-7, 5.4e-7, 6e-6}) {
    Training training(n, rate);
    Side sender{*codec, std::vector<float>(n)};
    std::vector<float> before = training.step();
    sender.send(before);
    before = rounded(before);
    for (int step = 0; step < 3; ++step) {
      const std::vector<float> after = rounded(training.step());
      const Change change = change_between(before, after);
      const Coded coded = sender.send(after);
      const double bytes = static_cast<double>(coded.payload.size()) / (change.share * static_cast<double>(n));
      // The sizes of the blocks, their heads, and codes of whole bits: 12 bytes for 4096 elements and 2.1 bits each.
      const double bound = (change.bits + 2.1) / 8 + 12 / (4096 * change.share);
      INFO("rate " << rate << ": " << 100 * change.share << " % change, " << bytes << " bytes each, information "
                   << change.bits / 8);
      CHECK(bytes > change.bits / 8);
      CHECK(bytes < bound);
      if (rate == 5.4e-7) {
        CHECK(change.share == Approx(0.02).epsilon(0.15));
        CHECK(bytes < 1.5);
      }
      before = after;
    }
  }
}

TEST_CASE("patch: the same version again, and an empty one, take hardly anything") {
  const Elements n = 1 << 16;
  const auto codec = codec_of("patch");
  Side sender{*codec, std::vector<float>(n)};
  const std::vector<float> weights = gaussian(n, 1);
  CHECK(sender.send(weights).payload.size() > n);
  CHECK(sender.send(weights).payload.size() < 64 + n / 4096 * 12);
  CHECK(sender.send(weights).payload.size() < codec->encoded_bound(n));
}

TEST_CASE("patch: one that is cut off, goes on or is of other elements is data loss") {
  const Elements n = 5000;
  const auto codec = codec_of("patch");
  Side sender{*codec, std::vector<float>(n)};
  const Coded coded = sender.send(gaussian(n, 1));
  for (Bytes size = 0; size <= coded.payload.size() + 20; size += 61) {
    if (size == coded.payload.size()) continue;
    std::vector<std::byte> other(coded.payload);
    other.resize(size);
    CHECK(codec->check({other.data(), other.size()}, n).code() == StatusCode::kDataLoss);
  }
  CHECK(codec->check(coded.view(), n + 1).code() == StatusCode::kDataLoss);
}

TEST_CASE("patch: it is made by name, is no codec of gradients, and says so where payloads would be merged") {
  CHECK(codec_of("patch")->info().number == 64);
  const std::vector<std::string> names = codec_names();
  CHECK(std::find(names.begin(), names.end(), "patch") == names.end());
  CHECK(patch_names() == std::vector<std::string>{"patch"});
  CHECK(built_in_with_number(64) == "patch");
  CHECK(check_no_patch("int8").text() == "OK");
  const Status status = check_no_patch("patch");
  CHECK(status.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(status.message(), Catch::StartsWith("codec `patch` encodes the difference to the last version"));
}

}  // namespace casync::compll
