// SPDX-License-Identifier: Apache-2.0
//
// sbc, stc, adaq and adacomp: elements that are picked become one value for all of them; topk_lloyd: one of two.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "tests/compll/codecs/promises.h"
#include "tests/compll/codecs/sparse.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll {
namespace {

double mean_at(std::span<const std::uint32_t> places, std::span<const float> x) {
  double sum = 0;
  for (const std::uint32_t place : places) sum += place == kNoPlace ? 0.0 : static_cast<double>(x[place]);
  return sum / std::max<double>(1, static_cast<double>(count_of(places)));
}

/// The elements that sbc decodes: the mean of the most positive or of the most negative ones, whichever is farther out.
std::vector<float> by_sbc(const std::vector<float>& x, Elements count) {
  const std::vector<std::uint32_t> up = places_of_largest(x, count), down = places_of_largest(scaled(x, -1), count);
  const double rise = mean_at(up, x), fall = mean_at(down, x);
  std::vector<float> given(x.size(), 0.0f);
  for (const std::uint32_t place : rise >= -fall ? up : down) {
    if (place != kNoPlace) given[place] = static_cast<float>(rise >= -fall ? rise : fall);
  }
  return given;
}

/// The elements that stc decodes: the mean magnitude of the largest, with their signs.
std::vector<float> by_stc(const std::vector<float>& x, Elements count) {
  const std::vector<float> sizes = magnitudes(x);
  const std::vector<std::uint32_t> places = places_of_largest(sizes, count);
  const auto mean = static_cast<float>(mean_at(places, sizes));
  std::vector<float> given(x.size(), 0.0f);
  for (const std::uint32_t place : places) {
    if (place != kNoPlace) given[place] = std::copysign(mean, x[place]);
  }
  return given;
}

/// The elements that adaq decodes: the share of the positive ones and of the negative ones, each as their mean. There
/// is room for one element more than the share of all.
std::vector<float> by_adaq(const std::vector<float>& x, double ratio) {
  std::vector<float> keys(x.size(), 0.0f), given(x.size(), 0.0f);
  for (const float sign : {1.0f, -1.0f}) {
    std::vector<float> side;
    for (const float value : x) {
      if (sign * value > 0) side.push_back(sign * value);
    }
    if (side.empty()) continue;
    std::sort(side.rbegin(), side.rend());
    const float edge = side[share_of(ratio, side.size()) - 1];
    for (Elements i = 0; i < x.size(); ++i) keys[i] = sign * x[i] >= edge ? sign * x[i] : keys[i];
  }
  const auto places = places_of_largest(keys, std::min<Elements>(share_of(ratio, x.size()) + 1, x.size()));
  double sum[2] = {0, 0}, count[2] = {0, 0};
  for (const std::uint32_t place : places) {
    if (place != kNoPlace) sum[x[place] < 0] += x[place], count[x[place] < 0] += 1;
  }
  for (const std::uint32_t place : places) {
    if (place != kNoPlace) given[place] = static_cast<float>(sum[x[place] < 0] / count[x[place] < 0]);
  }
  return given;
}

/// Elements at which `given` is not x's largest elements in two groups, divided by magnitude, each as its own mean.
std::size_t faults_of_two_means(const std::vector<float>& x, const std::vector<float>& given, Elements count) {
  const std::vector<std::uint32_t> places = places_of_largest(magnitudes(x), count);
  std::map<float, std::vector<float>> groups;  // by what they become
  std::size_t faults = 0;
  for (const std::uint32_t place : places) {
    if (place == kNoPlace) continue;
    groups[std::fabs(given[place])].push_back(std::fabs(x[place]));
    faults += !std::isfinite(given[place]) || std::signbit(given[place]) != std::signbit(x[place]);
  }
  for (const auto& [mean, group] : groups) {
    double sum = 0;
    for (const float size : group) sum += size;
    faults += !(std::fabs(sum / static_cast<double>(group.size()) - mean) <= 1e-6 * mean + 1e-44);
  }
  if (groups.size() > 2) ++faults;
  if (groups.size() == 2) {
    const std::vector<float>&smaller = groups.begin()->second, &larger = groups.rbegin()->second;
    faults += *std::max_element(smaller.begin(), smaller.end()) > *std::min_element(larger.begin(), larger.end());
  }
  const std::vector<float> sent = only_at(places, x);
  for (Elements i = 0; i < x.size(); ++i) faults += sent[i] == 0 && given[i] != 0;
  return faults;
}

/// The least that two means can lose of x, whose `count` elements are not zero: over all edges between them.
double least_of_two_means(const std::vector<float>& x, Elements count) {
  std::vector<float> sizes = magnitudes(x);
  std::sort(sizes.rbegin(), sizes.rend());
  double all = 0, above = 0, kept = 0;
  for (Elements i = 0; i < count; ++i) all += sizes[i];
  for (Elements i = 0; i + 1 < count; ++i) {
    above += sizes[i];
    const double larger = static_cast<double>(i + 1), smaller = static_cast<double>(count - i - 1);
    kept = std::max(kept, above * above / larger + (all - above) * (all - above) / smaller);
  }
  return 1 - kept / norm_squared(x);
}

template <class Expected>
void check_decodes_to(const char* name, const Expected& expected) {
  for (const double ratio : {0.000001, 0.01, 0.2, 1.0}) {
    const Written written = from_source(name, {{"ratio", ratio}});
    for (const Elements n : {1, 2, 3, 7, 33, 129, 1000}) {
      for (const Input& input : inputs(n)) {
        if (!input.finite || !holds_for({}, input.values)) continue;
        INFO("ratio " << ratio << ", n " << n << ", " << input.name);
        const std::vector<float> decoded = round_trip(*written.codec, input.values);
        const std::vector<float> wanted = expected(input.values, share_of(ratio, n));
        std::size_t wrong = 0, sent = 0;
        for (Elements i = 0; i < n; ++i) {
          wrong += (decoded[i] == 0) != (wanted[i] == 0) ||
                   !(std::fabs(decoded[i] - wanted[i]) <= 1e-6 * std::fabs(wanted[i]));
          sent += wanted[i] != 0;
        }
        CHECK(wrong == 0);
        const double norm = norm_squared(input.values);
        if (norm == 0) continue;
        // If k elements become their mean m, the norm of the error is the input's norm less k m^2.
        const double mean = std::sqrt(norm_squared(wanted) / std::max<double>(1, static_cast<double>(sent)));
        CHECK(relative_error(input.values, decoded) * norm ==
              Approx(norm - static_cast<double>(sent) * mean * mean).epsilon(1e-5).margin(1e-6 * norm));
      }
    }
  }
}

/// adacomp's bins: which elements reach the largest of theirs when the step's gradient is added once more.
std::vector<float> keys_of_adacomp(const std::vector<float>& all, const std::vector<float>& gradient, Elements bin) {
  std::vector<float> keys(all.size(), 0.0f);
  for (Elements begin = 0; begin < all.size(); begin += bin) {
    const Elements end = std::min(begin + bin, all.size());
    float top = 0;
    for (Elements i = begin; i < end; ++i) top = std::max(top, std::fabs(all[i]));
    for (Elements i = begin; i < end; ++i) {
      const float reached = std::fabs(all[i] + gradient[i]);
      keys[i] = top != 0 && all[i] != 0 && reached >= top ? reached : 0;
    }
  }
  return keys;
}

}  // namespace

TEST_CASE("sbc: the farther of two means stands for the most positive elements or the most negative ones") {
  check_decodes_to("sbc", by_sbc);
  const Written written = from_source("sbc", {{"ratio", 0.4}});
  CHECK(round_trip(*written.codec, std::vector<float>{1, -6, 3, -4, 5}) == std::vector<float>{0, -5, 0, -5, 0});
  CHECK(round_trip(*written.codec, std::vector<float>{1, -3, 3, -3, 3}) == std::vector<float>{0, 0, 3, 0, 3});
  CHECK(round_trip(*written.codec, std::vector<float>{-1, -2, -3, -4, 1}) == std::vector<float>{0, 0, -3.5f, -3.5f, 0});
  CHECK(round_trip(*written.codec, std::vector<float>{0, 0, 0, 0, 2}) == std::vector<float>{0, 0, 0, 0, 2});
}

TEST_CASE("stc: the mean magnitude stands for the largest elements, with their signs") {
  check_decodes_to("stc", by_stc);
  const Written written = from_source("stc", {{"ratio", 0.4}});
  CHECK(round_trip(*written.codec, std::vector<float>{1, -6, 3, -4, 2}) == std::vector<float>{0, -5, 0, -5, 0});
  CHECK(round_trip(*written.codec, std::vector<float>{0, 0, -2, 0, 0}) == std::vector<float>{0, 0, -2, 0, 0});
}

TEST_CASE("adaq: a share of the positive elements and of the negative ones is sent, each as their mean") {
  for (const double ratio : {0.000001, 0.01, 0.2, 1.0}) {
    const Written written = from_source("adaq", {{"ratio", ratio}});
    for (const Elements n : {1, 2, 3, 7, 33, 129, 1000}) {
      for (const Input& input : inputs(n)) {
        if (!input.finite || !holds_for({}, input.values)) continue;
        INFO("ratio " << ratio << ", n " << n << ", " << input.name);
        const std::vector<float> wanted = by_adaq(input.values, ratio);
        const std::vector<float> decoded = round_trip(*written.codec, input.values);
        std::size_t wrong = 0;
        for (Elements i = 0; i < n; ++i) wrong += !(std::fabs(decoded[i] - wanted[i]) <= 1e-6 * std::fabs(wanted[i]));
        CHECK(wrong == 0);
        const double norm = norm_squared(input.values);
        if (norm == 0) continue;
        CHECK(relative_error(input.values, decoded) * norm ==
              Approx(norm - norm_squared(wanted)).epsilon(1e-5).margin(1e-6 * norm));
      }
    }
  }
  const Parameters half = {{"ratio", 0.5}};
  const std::vector<float> x = {4, -8, 2, 1, -1, -3, -10};
  CHECK(round_trip(*from_source("adaq", half).codec, x) == std::vector<float>{3, -9, 3, 0, 0, 0, -9});
  CHECK(round_trip(*from_source("adaq", half).codec, std::vector<float>{-1, -2, -3, -4}) ==
        std::vector<float>{0, 0, -3.5f, -3.5f});
  const std::string of_all = changed(source_of("adaq"), "max(reduce(up, count), 1)", "max(reduce(chosen, count), 1)");
  CHECK(round_trip(*from_text("adaq", of_all, half).codec, x) == std::vector<float>{1.5f, -9, 1.5f, 0, 0, 0, -9});
}

TEST_CASE("topk_lloyd: the largest elements become the means of the smaller and of the larger ones among them") {
  for (const double ratio : {0.01, 0.2, 1.0}) {
    const Written written = from_source("topk_lloyd", {{"ratio", ratio}, {"steps", 16}});
    for (const Elements n : {1, 2, 3, 33, 129, 1000}) {
      for (const Input& input : inputs(n)) {
        if (!input.finite || !holds_for({}, input.values)) continue;
        INFO("ratio " << ratio << ", n " << n << ", " << input.name);
        CHECK(faults_of_two_means(input.values, round_trip(*written.codec, input.values), share_of(ratio, n)) == 0);
      }
    }
  }
  const Written some = from_source("topk_lloyd", {{"ratio", 0.6}});
  CHECK(round_trip(*some.codec, std::vector<float>{9, -1, 0, 2, -11}) == std::vector<float>{10, 0, 0, 2, -10});
  CHECK(round_trip(*some.codec, std::vector<float>{0, 0, -3, 0, 0}) == std::vector<float>{0, 0, -3, 0, 0});
}

TEST_CASE(
    "topk_lloyd: it loses nearly as little of the sent elements as any two magnitudes, and a third of the loss of "
    "stc") {
  for (const std::vector<float>& x : {gaussian(1 << 16, 1), laplace(1 << 16, 2)}) {
    const Elements count = share_of(1.0 / 64, x.size());
    const std::vector<float> sent = only_at(places_of_largest(magnitudes(x), count), x);
    const auto lost = [&](const char* name) {
      return relative_error(sent, round_trip(*from_source(name, {{"ratio", 1.0 / 64}}).codec, sent));
    };
    const double least = least_of_two_means(sent, count);
    CHECK(lost("topk_lloyd") >= least * (1 - 1e-6));
    CHECK(lost("topk_lloyd") <= least * 1.05);
    CHECK(lost("topk_lloyd") < 0.38 * lost("stc"));
  }
}

// Trainings of one count for the other (tests/bench/loss/rows.py).
TEST_CASE("topk_coded and lossless: values and residuals are those of topk_lloyd and none, bit for bit") {
  for (const auto& [coded, plain] : {std::pair("topk_coded", "topk_lloyd"), {"lossless", "none"}}) {
    const std::unique_ptr<Codec> one = codec_of(coded), other = codec_of(plain);
    for (const Elements n : {1, 17, 1000, 40001}) {
      for (const Input& input : inputs(n)) {
        INFO(coded << ", " << n << " elements, " << input.name);
        const Coded first = encode(*one, input.values), second = encode(*other, input.values);
        CHECK(first.finite == second.finite);
        CHECK(same_bytes(decode(*one, first, n), decode(*other, second, n)));
        if (first.finite) CHECK(same_bytes(first.residual, second.residual));
      }
    }
  }
}

TEST_CASE("sbc, stc: a mean over all places instead of over those that are there would be noticed") {
  const std::vector<float> one = {0, 0, 0, 0, 2};
  const std::string all_places = changed(source_of("stc"), "max(reduce(chosen, count), 1)", "chosen.size");
  CHECK(round_trip(*from_text("stc", all_places, {{"ratio", 0.4}}).codec, one)[4] == 1);
}

TEST_CASE("adacomp: elements that reach the largest of their bin are sent, with the mean of the bins' largest") {
  const Elements n = 1000;
  for (const Elements bin : {16, 64, 65536}) {
    for (const double capacity : {0.01, 0.1, 1.0}) {
      const Written written = from_source("adacomp", {{"bin", static_cast<double>(bin)}, {"capacity", capacity}});
      for (const Input& input : inputs(n)) {
        if (!input.finite || !holds_for({0x1p-110, 1e37}, input.values)) continue;
        INFO("bin " << bin << ", capacity " << capacity << ", " << input.name);
        const std::vector<float> before = scaled(gaussian(n, 12), 0.5f * std::fabs(input.values[n / 2]));
        std::vector<float> all = before;
        for (Elements i = 0; i < n; ++i) all[i] += input.values[i];
        const Coded coded = encode(*written.codec, input.values, before);
        const auto expected = places_of_largest(keys_of_adacomp(all, input.values, bin), share_of(capacity, n));
        CHECK(integers_in(written, coded, "place", n) == expected);
        double tops = 0;
        for (Elements begin = 0; begin < n; begin += bin) {
          const std::vector<float> part(all.begin() + static_cast<long>(begin),
                                        all.begin() + static_cast<long>(std::min(begin + bin, n)));
          const std::vector<float> sizes = magnitudes(part);
          tops += *std::max_element(sizes.begin(), sizes.end());
        }
        const double mean = tops / std::ceil(static_cast<double>(n) / static_cast<double>(bin));
        const std::vector<float> decoded = decode(*written.codec, coded, n);
        std::size_t wrong = 0;
        for (Elements i = 0; i < n; ++i) {
          const bool sent = std::find(expected.begin(), expected.end(), i) != expected.end();
          const double wanted = sent ? (all[i] < 0 ? -mean : mean) : 0;
          wrong += !(std::fabs(decoded[i] - wanted) <= 1e-6 * mean);
          wrong += !(std::fabs(coded.residual[i] - (all[i] - decoded[i])) <= 1e-6 * (mean + std::fabs(all[i])));
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("adacomp: each bin that is not zero sends something of gradients that go on as they were") {
  const Elements n = 1000, bin = 64;
  const std::vector<float> x = laplace(n, 3);
  const Written written = from_source("adacomp", {{"capacity", 1}});
  std::vector<float> gradient = x;
  std::fill(gradient.begin() + 2 * bin, gradient.begin() + 3 * bin, 0.0f);
  const std::vector<float> decoded =
      decode(*written.codec, encode(*written.codec, gradient, scaled(gradient, 0.7f)), n);
  for (Elements begin = 0; begin < n; begin += bin) {
    const auto sent = std::count_if(decoded.begin() + static_cast<long>(begin),
                                    decoded.begin() + static_cast<long>(std::min(begin + bin, n)),
                                    [](float value) { return value != 0; });
    INFO("bin " << begin / bin);
    if (begin == 2 * bin) CHECK(sent == 0);  // as published it would send all of it: |0| reaches 0
    if (begin != 2 * bin) CHECK(sent >= 1);
  }
  const std::string published =
      changed(source_of("adacomp"), "a == 0 || abs(a + x) < t ? 0 : abs(a + x)", "abs(a + x) < t ? 0 : abs(a + x) + 1");
  const Written wrong = from_text("adacomp", published, {{"capacity", 1}});
  CHECK(decode(*wrong.codec, encode(*wrong.codec, gradient, scaled(gradient, 0.7f)), n)[2 * bin] != 0);
}

TEST_CASE("adacomp: an element whose gradient takes back what was left of it is zero, and is not sent as the mean") {
  const Written written = from_source("adacomp", {{"capacity", 1}});
  const std::vector<float> gradient = {1, -2, 0, 0.125f}, before = {-1, 2, 0.25f, 0};
  const Coded coded = encode(*written.codec, gradient, before);
  CHECK(decode(*written.codec, coded, 4) == std::vector<float>{0, 0, 0.25f, 0.25f});
  CHECK(coded.residual == std::vector<float>{0, 0, 0, -0.125f});
}

}  // namespace casync::compll
