// SPDX-License-Identifier: Apache-2.0
//
// sketch_median, against loops over doubles by the formulas of docs/codecs.md, and what it is for.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "tests/compll/codecs/promises.h"
#include "tests/compll/codecs/ranks.h"
#include "tests/compll/codecs/sparse.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll {
namespace {

using Doubles = std::vector<double>;

constexpr EncodeContext kContext{1, 2, 3, 0};

std::uint32_t mix(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

/// The rows that a seed makes of n elements.
struct Rows {
  Rows(std::uint32_t seed, Elements elements, Elements row_count, Elements block_size)
      : n(elements), rows(row_count), block(block_size) {
    const Elements group = rows == 3 ? 4 : 8;
    whole = n / group * group;
    for (std::uint32_t row = 0; row < rows; ++row) {
      const std::uint32_t hash = mix(seed ^ mix(~row));
      std::vector<Elements> to(n / group);
      std::iota(to.begin(), to.end(), Elements{0});
      Elements window = 1;
      while (2 * window <= to.size()) window *= 2;
      const auto move = [&](Elements from, std::uint32_t by) {
        for (Elements& each : to) {
          if (each >= from && each < from + window) each = from + ((each - from) * (by | 1) + (by >> 16)) % window;
        }
      };
      if (!to.empty()) move(0, hash), move(to.size() - window, mix(hash));
      for (Elements i = 0; i < n; ++i) {
        const auto at = static_cast<std::uint32_t>(i), of_group = static_cast<std::uint32_t>(i / group);
        std::uint32_t negative = mix(seed ^ at) >> 31;
        if (i < whole) negative ^= (of_group * (hash | 1) + (hash >> 16)) >> 31;
        const std::uint32_t common = at % static_cast<std::uint32_t>(group) & (row + 1);
        if (i < whole && std::popcount(common) % 2 == 1) negative ^= 1;
        sign.push_back(i >= whole && row > 0 ? 0 : negative == 1 ? -1 : 1);
        bucket.push_back((i < whole ? to[i / group] * group + i % group : i) / block);
      }
    }
  }

  Elements buckets() const { return (n + block - 1) / block; }

  Doubles sums(const Doubles& x) const {
    Doubles sums(rows * buckets(), 0.0);
    for (Elements at = 0; at < rows * n; ++at) sums[at / n * buckets() + bucket[at]] += sign[at] * x[at % n];
    return sums;
  }
  /// The estimates of an element, one from each row.
  Doubles said(const Doubles& sums, Elements i) const {
    Doubles said;
    for (Elements row = 0; row < rows; ++row) {
      said.push_back(sign[row * n + i] * sums[row * buckets() + bucket[row * n + i]]);
    }
    return said;
  }
  Doubles shortest(const Doubles& sums) const {
    Doubles sizes(rows * buckets(), 0.0), x(n, 0.0);
    for (Elements at = 0; at < rows * n; ++at) sizes[at / n * buckets() + bucket[at]] += std::abs(sign[at]);
    for (Elements i = 0; i < n; ++i) {
      const Doubles each = said(sums, i);
      for (Elements row = 0; row < rows; ++row) {
        const double size = sizes[row * buckets() + bucket[row * n + i]];
        if (size > 0) x[i] += each[row] / size;
      }
    }
    return x;
  }
  /// The shortest vector, but the median of each heavy element.
  Doubles result(const Doubles& sums, double heavy) const {
    double squares = 0;
    for (const double sum : sums) squares += sum * sum;
    const double least = heavy * std::sqrt(squares / static_cast<double>(sums.size()));
    Doubles x = shortest(sums);
    for (Elements i = 0; i < n; ++i) {
      Doubles each = said(sums, i);
      std::sort(each.begin(), each.end());
      if (each.front() >= least || each.back() <= -least) x[i] = each[rows / 2];
    }
    return x;
  }

  Elements n, rows, block, whole = 0;
  std::vector<int> sign;         ///< row by row; 0 of an element that is not in it
  std::vector<Elements> bucket;  ///< the same
};

Doubles doubles(const std::vector<float>& x) { return {x.begin(), x.end()}; }

/// ||a - b|| / ||a||.
double apart(const Doubles& a, const Doubles& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference += (a[i] - b[i]) * (a[i] - b[i]), norm += a[i] * a[i];
  return std::sqrt(difference / norm);
}

std::uint32_t seed_in(const Written& written, const Coded& coded, Elements n) {
  return integers_in(written, coded, "seed", n).front();
}

/// Laplace noise, with 100 or -100 at one element in `every` from `first` on.
std::vector<float> heavy_tailed(Elements n, std::uint32_t seed, Elements first, Elements every = 200) {
  std::vector<float> x = laplace(n, seed);
  for (Elements i = first; i < n; i += every) x[i] = i / every % 2 == 0 ? 100 : -100;
  return x;
}

/// The result of the first step of one rank.
std::vector<float> step_of(const Codec& codec, const std::vector<float>& x) {
  return Ranks(codec, 1, x.size()).step({x}, 0).front();
}

/// The error of the elements of `x` that are 100 or -100: relative, in the norm.
double error_of_heavy(const std::vector<float>& x, const std::vector<float>& given) {
  Doubles wanted, had;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::fabs(x[i]) == 100) wanted.push_back(x[i]), had.push_back(given[i]);
  }
  return apart(wanted, had);
}

}  // namespace

TEST_CASE("sketch_median: sums, decoded elements and results are those of plain loops over doubles") {
  for (const auto& [rows, block] : {std::pair<Elements, Elements>{3, 16}, {3, 128}, {5, 16}, {5, 64}}) {
    const Written written =
        from_source("sketch_median", {{"rows", double(rows)}, {"block", double(block)}, {"heavy", 2}});
    for (const Elements n : {1u, 3u, 4u, 9u, 63u, 64u, 517u, 2048u, 3001u}) {
      INFO("rows " << rows << ", block " << block << ", n " << n);
      const std::vector<float> x = heavy_tailed(n, 7, 7);
      const Coded coded = encode(*written.codec, x, {}, kContext);
      const Rows known(seed_in(written, coded, n), n, rows, block);
      Doubles wanted = known.sums(doubles(x)), sums = doubles(floats_in(written, coded, "sums", n));
      // Beyond n there is no room, and no sum that has an element.
      CHECK(std::all_of(wanted.begin() + long(std::min(sums.size(), wanted.size())), wanted.end(),
                        [](double sum) { return sum == 0; }));
      sums.resize(wanted.size(), 0.0);
      CHECK(apart(wanted, sums) < 1e-6);
      const Doubles shortest = known.shortest(wanted);
      CHECK(apart(shortest, doubles(decode(*written.codec, coded, n))) < 1e-6);
      CHECK(apart(wanted, known.sums(shortest)) < 1e-9);
      if (std::min<Elements>(n, rows * known.buckets()) != rows * known.buckets()) continue;
      std::vector<float> states(2 * n), given = decode(*written.codec, coded, n);
      written.codec->result(given.data(), n, {nullptr, states.data(), n}, kContext, given.data());
      CHECK(apart(known.result(wanted, 2), doubles(given)) < 1e-6);
    }
  }
}

TEST_CASE("sketch_median: the sketch of a sum is the sum of the sketches, with the numbers that all ranks draw") {
  const Elements n = 1003;
  const Written written = from_source("sketch_median");
  const auto whole = [&](std::uint32_t seed) {  // whose sums are exact in any order
    std::vector<float> x = gaussian(n, seed);
    for (float& value : x) value = std::round(100 * value);
    return x;
  };
  const auto sums_of = [&](const std::vector<float>& x) {
    return floats_in(written, encode(*written.codec, x, {}, kContext), "sums", n);
  };
  std::vector<float> x = whole(1), y = whole(2), sums = sums_of(x);
  const std::vector<float> of_y = sums_of(y);
  for (Elements i = 0; i < n; ++i) x[i] += y[i];
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += of_y[i];
  CHECK(same_bytes(sums_of(x), sums));
}

TEST_CASE("sketch_median: merging loses nothing but what floats round, so that the owner has no residual") {
  for (const Elements n : {1000u, 1024u, 1003u}) {
    INFO("n " << n);
    const Written written = from_source("sketch_median");
    const Coded a = encode(*written.codec, gaussian(n, 1), {}, kContext),
                b = encode(*written.codec, gaussian(n, 2), {}, kContext);
    const std::vector<Contribution> both = {{a.view(), nullptr}, {b.view(), nullptr}};
    std::vector<std::byte> merged(a.payload.size());
    std::vector<float> states(2 * n, 1.0f);
    const auto lost = [&](const EncodeContext& context) {
      written.codec->merge(both, n, 0.5f, *written.codec, {nullptr, states.data(), n}, context, merged.data());
      return norm_squared(std::span<const float>(states).first(n));
    };
    CHECK(lost(kContext) < 1e-10);
    CHECK(lost({1, 2, 4, 0}) > 1e-3);  // by an owner that is a step ahead
  }
}

TEST_CASE("sketch_median: large elements have a far smaller error than in a sketch of one row and more bytes") {
  const Elements n = 1 << 14;
  const std::vector<float> x = heavy_tailed(n, 3, 3, 1000);
  for (const auto& [rows, block] : {std::pair(3.0, 32.0), {5.0, 64.0}}) {
    const Written many = from_source("sketch_median", {{"rows", rows}, {"block", block}, {"heavy", 2}}),
                  one = from_source("sketch", {{"block", 8}});
    REQUIRE(many.codec->encoded_bound(n) < one.codec->encoded_bound(n));
    const double with_rows = error_of_heavy(x, step_of(*many.codec, x)),
                 with_one = error_of_heavy(x, step_of(*one.codec, x));
    INFO("rows " << rows << ": " << with_rows << ", one row: " << with_one);
    CHECK(with_rows < 0.2 * with_one);
  }
}

TEST_CASE("sketch_median: results, residuals and what results owe are together what was given, whatever is heavy") {
  for (const std::size_t count : {1, 2, 4}) {
    for (const double rows : {3.0, 5.0}) {
      INFO(count << " ranks, rows " << rows);
      const Elements n = 1501;
      const Written written = from_source("sketch_median", {{"rows", rows}, {"block", 16}, {"heavy", 2}});
      Ranks ranks(*written.codec, count, n);
      Doubles given(n, 0.0), had(n, 0.0);
      bool owed = false;
      for (std::uint32_t step = 0; step < 12; ++step) {
        std::vector<std::vector<float>> gradients;
        for (std::uint32_t rank = 0; rank < count; ++rank) gradients.push_back(heavy_tailed(n, 10 * step + rank, step));
        const std::vector<float> result = ranks.step(gradients, step).front();
        for (Elements i = 0; i < n; ++i) {
          had[i] += result[i];
          for (const std::vector<float>& each : gradients) given[i] += each[i] / static_cast<double>(count);
        }
        owed |= norm_squared(ranks.receiver(0, 1)) > 100;
      }
      CHECK(owed);
      for (Elements i = 0; i < n; ++i) {
        had[i] += ranks.owner(0)[i] + ranks.receiver(0, 1)[i];
        for (std::size_t rank = 0; rank < count; ++rank)
          had[i] += ranks.encoder(rank, 0)[i] / static_cast<double>(count);
      }
      CHECK(apart(given, had) < 1e-5);
    }
  }
}

TEST_CASE("sketch_median: neither the error of heavy elements nor that of others grows from step to step") {
  const Elements n = 4096;
  const std::unique_ptr<Codec> codec = codec_of("sketch_median", {{"block", 16}});
  for (const bool heavy : {false, true}) {
    Ranks ranks(*codec, 2, n);
    Doubles given(n, 0.0), had(n, 0.0);
    double early = 0;
    for (std::uint32_t step = 0; step < 160; ++step) {
      const std::vector<std::vector<float>> gradients = {heavy ? heavy_tailed(n, 5, 5) : laplace(n, 5),
                                                         gaussian(n, 90 + step)};
      const std::vector<float> result = ranks.step(gradients, step).front();
      for (Elements i = 0; i < n; ++i) had[i] += result[i], given[i] += (gradients[0][i] + gradients[1][i]) / 2;
      if (step == 39) early = apart(given, had);
    }
    INFO("relative error after 40 steps " << early << ", after 160 " << apart(given, had));
    CHECK(early < 0.5);
    CHECK(apart(given, had) < 0.5 * early);
  }
}

}  // namespace casync::compll
