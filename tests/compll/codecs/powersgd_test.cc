// SPDX-License-Identifier: Apache-2.0
//
// PowerSGD over several ranks: what its paper promises, and what its public implementations get wrong.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/compll/support/inputs.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/round_ranks.h"

namespace casync::compll {
namespace {

using Gradients = std::vector<std::vector<float>>;

std::unique_ptr<RoundsCodec> powersgd(double rank) { return rounds_from_source("powersgd", {{"rank", rank}}); }

/// The same without an error that is kept: each step is one of power iteration.
std::unique_ptr<RoundsCodec> forgetful(double rank) {
  return rounds_from_text("forgetful", changed(source_of("powersgd"), "return g + e;", "return g;"), {{"rank", rank}});
}

/// Vectors of random elements, the k-th times weight^k: a matrix of this rank.
std::vector<float> of_rank(std::size_t rank, Elements rows, Elements columns, double weight, std::uint32_t seed) {
  const std::vector<float> left = gaussian(rank * rows, seed), right = gaussian(rank * columns, seed + 1);
  std::vector<float> all(rows * columns);
  for (Elements r = 0; r < rows; ++r) {
    for (Elements c = 0; c < columns; ++c) {
      double sum = 0;
      for (std::size_t k = 0; k < rank; ++k) {
        sum += std::pow(weight, static_cast<double>(k)) * left[k * rows + r] * right[k * columns + c];
      }
      all[r * columns + c] = static_cast<float>(sum);
    }
  }
  return all;
}

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

std::vector<float> difference(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> all(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) all[i] = a[i] - b[i];
  return all;
}

std::vector<float> mean_of(const Gradients& all) {
  std::vector<float> mean(all.front().size());
  for (std::size_t i = 0; i < mean.size(); ++i) {
    double sum = 0;
    for (const std::vector<float>& each : all) sum += each[i];
    mean[i] = static_cast<float>(sum / static_cast<double>(all.size()));
  }
  return mean;
}

/// The first n floats of a rank's states: the error.
std::vector<float> error_of(const RoundRanks& ranks, std::size_t rank, Elements n) {
  return {ranks.states(rank).begin(), ranks.states(rank).begin() + static_cast<std::ptrdiff_t>(n)};
}

using Vectors = std::vector<std::vector<double>>;

/// A matrix in doubles, by plain loops.
struct Dense {
  const std::vector<float>& elements;
  Elements rows = 0, columns = 0;

  Vectors times(const Vectors& right) const {
    Vectors left(right.size(), std::vector<double>(rows));
    for (std::size_t k = 0; k < right.size(); ++k) {
      for (Elements i = 0; i < rows * columns; ++i) left[k][i / columns] += elements[i] * right[k][i % columns];
    }
    return left;
  }
  Vectors transposed_times(const Vectors& left) const {
    Vectors right(left.size(), std::vector<double>(columns));
    for (std::size_t k = 0; k < left.size(); ++k) {
      for (Elements i = 0; i < rows * columns; ++i) right[k][i % columns] += elements[i] * left[k][i / columns];
    }
    return right;
  }
};

Vectors in_doubles(std::span<const float> all, Elements each) {
  Vectors vectors;
  for (Elements begin = 0; begin < all.size(); begin += each) {
    vectors.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(begin),
                         all.begin() + static_cast<std::ptrdiff_t>(begin + each));
  }
  return vectors;
}

double product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Gram and Schmidt's, of vectors that are independent.
Vectors at_right_angles(Vectors all) {
  for (std::size_t k = 0; k < all.size(); ++k) {
    for (std::size_t before = 0; before < k; ++before) {
      const double along = product(all[k], all[before]);
      for (std::size_t i = 0; i < all[k].size(); ++i) all[k][i] -= along * all[before][i];
    }
    const double length = std::sqrt(product(all[k], all[k]));
    for (double& each : all[k]) each /= length;
  }
  return all;
}

/// The sum of squares of the matrix's largest singular values, by so many steps of power iteration that nothing
/// changes.
double best_energy(const std::vector<float>& matrix, Elements rows, Elements columns, std::size_t rank) {
  const Dense m{matrix, rows, columns};
  Vectors right = in_doubles(gaussian(rank * columns, 99), columns);
  for (int i = 0; i < 300; ++i) right = m.transposed_times(at_right_angles(m.times(at_right_angles(right))));
  double energy = 0;
  for (const std::vector<double>& each : right) energy += product(each, each);
  return energy;
}

}  // namespace

TEST_CASE("powersgd: its declaration and its exchanges") {
  const auto codec = powersgd(4);
  CHECK(codec->info().rounds == 2);
  CHECK(codec->info().contractive);
  CHECK(codec->info().shared_numbers);
  CHECK(codec->info().bits_per_element == Approx(32.0 * 4 * 2 / 1024));
  const RoundsShape shape = codec->shape(100, 30);
  CHECK(shape.exchanged == std::vector<Elements>{4 * 100, 4 * 30});
  CHECK(shape.states == 100 * 30 + 4 * 30);
  CHECK(codec->shape(100, 3).exchanged == std::vector<Elements>{3 * 100, 3 * 3});
  CHECK(codec->shape(2, 50).exchanged == std::vector<Elements>{2 * 2, 2 * 50});
  CHECK(codec->shape(0, 50).exchanged == std::vector<Elements>{0, 0});
}

TEST_CASE("powersgd: a matrix of that rank arrives as it is") {
  for (const std::size_t rank : {1, 2, 4}) {
    const std::vector<float> m = of_rank(rank, 24, 37, 0.5, 5);
    const auto codec = powersgd(static_cast<double>(rank));
    RoundRanks ranks(*codec, 3, 24, 37);
    for (std::uint32_t step = 0; step < 3; ++step) {
      INFO("rank " << rank << ", step " << step);
      CHECK(std::sqrt(relative_error(m, ranks.mean({m, m, m}, step))) < 1e-5);
    }
  }
}

TEST_CASE("powersgd: matrices with fewer rows, columns or vectors than the rank") {
  for (const Elements rows : {0, 1, 2, 3, 17}) {
    for (const Elements columns : {0, 1, 2, 3, 17}) {
      for (const double rank : {1, 2, 7, 64}) {
        INFO(rows << " x " << columns << ", rank " << rank);
        const std::vector<float> m = gaussian(rows * columns, 3);
        const auto codec = powersgd(rank);
        RoundRanks ranks(*codec, 2, rows, columns);
        const std::vector<float> given = ranks.mean({m, m}, 0);
        CHECK(dot(difference(m, given), difference(m, given)) <= (1 + 1e-5) * dot(m, m));
        if (rank >= static_cast<double>(std::min(rows, columns))) {
          CHECK(std::sqrt(dot(difference(m, given), difference(m, given))) <= 1e-5 * std::sqrt(dot(m, m)));
        }
      }
    }
  }
}

TEST_CASE("powersgd: the result is a projection of the input") {
  const Elements rows = 20, columns = 31;
  for (const double rank : {1, 3}) {
    const Gradients gradients = {gaussian(rows * columns, 1), laplace(rows * columns, 2)};
    const auto codec = powersgd(rank);
    RoundRanks ranks(*codec, 2, rows, columns);
    const std::vector<float> given = ranks.mean(gradients, 0), m = mean_of(gradients);
    const std::vector<float> left_over = difference(m, given);
    CHECK(std::abs(dot(left_over, given)) < 1e-5 * dot(m, m));
    CHECK(dot(left_over, left_over) < dot(m, m));
    CHECK(dot(given, given) > 0);
    // It is the mean, projected to the vectors of the first exchange; projected again it stays.
    const Vectors left = at_right_angles(in_doubles(ranks.exchanged()[0], rows));
    for (const std::vector<float>& from : {m, given}) {
      const Vectors right = Dense{from, rows, columns}.transposed_times(left);
      std::vector<float> projected(m.size());
      for (Elements i = 0; i < m.size(); ++i) {
        double sum = 0;
        for (std::size_t k = 0; k < left.size(); ++k) sum += left[k][i / columns] * right[k][i % columns];
        projected[i] = static_cast<float>(sum);
      }
      CHECK(relative_error(given, projected) < 1e-10);
    }
  }
}

TEST_CASE("powersgd: with a warm start it finds the largest singular values") {
  const Elements rows = 30, columns = 22;
  const std::vector<float> m = of_rank(20, rows, columns, 0.7, 8);
  for (const std::size_t rank : {1, 2, 4}) {
    const auto codec = forgetful(static_cast<double>(rank));
    RoundRanks ranks(*codec, 2, rows, columns);
    std::vector<double> energy;
    for (std::uint32_t step = 0; step < 25; ++step) {
      const std::vector<float> given = ranks.mean({m, m}, step);
      energy.push_back(dot(given, given));
    }
    const double best = best_energy(m, rows, columns, rank);
    INFO("rank " << rank << ", best " << best << ", first " << energy.front() << ", last " << energy.back());
    CHECK(energy.back() > 0.995 * best);
    CHECK(energy.back() < 1.0001 * best);
    CHECK(energy.front() < energy.back());
  }
}

TEST_CASE("powersgd: no rank matters more than another") {
  const Elements rows = 18, columns = 26;
  Gradients gradients;
  for (std::uint32_t rank = 0; rank < 4; ++rank) gradients.push_back(laplace(rows * columns, 20 + rank));
  const auto codec = powersgd(2);
  RoundRanks ranks(*codec, 4, rows, columns), turned(*codec, 4, rows, columns);
  for (std::uint32_t step = 0; step < 3; ++step) {
    const std::vector<float> one = ranks.mean(gradients, step);
    const std::vector<float> other = turned.mean({gradients[2], gradients[0], gradients[3], gradients[1]}, step);
    CHECK(std::sqrt(relative_error(one, other)) < 1e-4);
  }
}

TEST_CASE("powersgd: unsent parts of a step come later, nothing is lost in the mean") {
  const Elements rows = 12, columns = 19, n = rows * columns;
  const std::size_t count = 3;
  const auto codec = powersgd(2);
  RoundRanks ranks(*codec, count, rows, columns);
  std::vector<double> sent(n), wanted(n);
  for (std::uint32_t step = 0; step < 30; ++step) {
    Gradients gradients;
    for (std::uint32_t rank = 0; rank < count; ++rank) gradients.push_back(gaussian(n, 100 * step + rank));
    const std::vector<float> given = ranks.mean(gradients, step), mean = mean_of(gradients);
    for (Elements i = 0; i < n; ++i) sent[i] += given[i], wanted[i] += mean[i];
  }
  for (Elements i = 0; i < n; ++i) {
    double kept = 0;
    for (std::size_t rank = 0; rank < count; ++rank) kept += ranks.states(rank)[i];
    CHECK(sent[i] + kept / count == Approx(wanted[i]).margin(1e-4));
  }
}

namespace {

/// The root mean square of the ranks' errors after so many steps of noise that is each rank's own.
double error_after(const RoundsCodec& codec, std::uint32_t steps) {
  const Elements rows = 8, columns = 12, n = rows * columns;
  constexpr std::size_t kRanks = 4;
  RoundRanks ranks(codec, kRanks, rows, columns);
  for (std::uint32_t step = 0; step < steps; ++step) {
    Gradients gradients;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) gradients.push_back(gaussian(n, kRanks * step + rank));
    ranks.mean(gradients, step);
  }
  double sum = 0;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    const std::vector<float> error = error_of(ranks, rank, n);
    sum += dot(error, error);
  }
  return std::sqrt(sum / static_cast<double>(kRanks * n));
}

}  // namespace

TEST_CASE("powersgd: kept arrays of a rank stay small, however long it runs") {
  const auto local = powersgd(1);
  CHECK(error_after(*local, 1000) < 1.5 * error_after(*local, 100));
  // The error that public implementations keep is a random walk, which goes on in each step.
  const auto aggregate = rounds_from_text(
      "aggregate", changed(source_of("powersgd"), "map(m, matmul(left, own)", "map(m, matmul(left, right)"),
      {{"rank", 1}});
  CHECK(error_after(*aggregate, 1000) > 2 * error_after(*aggregate, 100));
}

TEST_CASE("powersgd: zeros give zeros, and what comes after them arrives") {
  const Elements rows = 9, columns = 14;
  const std::vector<float> zeros(rows * columns), m = of_rank(1, rows, columns, 1, 4);
  const auto codec = powersgd(2);
  RoundRanks ranks(*codec, 2, rows, columns);
  for (std::uint32_t step = 0; step < 3; ++step) CHECK(same_bytes(ranks.mean({zeros, zeros}, step), zeros));
  CHECK(std::sqrt(relative_error(m, ranks.mean({m, m}, 3))) < 1e-5);
  // A matrix of rank 1 needs one of the two vectors. The next one needs both, and the lost vector is drawn anew.
  const std::vector<float> more = of_rank(2, rows, columns, 1, 40);
  ranks.mean({zeros, zeros}, 4);
  CHECK(std::sqrt(relative_error(more, ranks.mean({more, more}, 5))) < 1e-3);
  CHECK(std::sqrt(relative_error(more, ranks.mean({more, more}, 6))) < 1e-3);
}

TEST_CASE("powersgd: the size of a gradient's elements does not matter") {
  const Elements rows = 10, columns = 13;
  const std::vector<float> m = gaussian(rows * columns, 6);
  const auto codec = powersgd(2);
  const auto given = [&](float factor) {
    std::vector<float> scaled = m;
    for (float& each : scaled) each *= factor;
    RoundRanks ranks(*codec, 1, rows, columns);
    for (std::uint32_t step = 0; step < 3; ++step) scaled = ranks.mean({scaled}, step);
    for (float& each : scaled) each /= factor;
    return scaled;
  };
  for (const float factor : {0x1p-80f, 0x1p-20f, 0x1p30f, 0x1p80f}) {
    INFO("times " << factor);
    CHECK(std::sqrt(relative_error(given(1), given(factor))) < 1e-5);
  }
}

TEST_CASE("powersgd: NaN and infinity arrive as NaN on all ranks") {
  const Elements rows = 5, columns = 18;
  for (const float spoiled : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Gradients gradients = {gaussian(rows * columns, 1), gaussian(rows * columns, 2)};
    gradients[1][40] = spoiled;
    const auto codec = powersgd(3);
    RoundRanks ranks(*codec, 2, rows, columns);
    for (const std::vector<float>& given : ranks.step(gradients, 0, 0.5f)) {
      CHECK(std::all_of(given.begin(), given.end(), [](float x) { return std::isnan(x); }));
    }
    const std::vector<float>& sum = ranks.exchanged()[0];
    CHECK(!std::all_of(sum.begin(), sum.end(), [](float x) { return std::isfinite(x); }));
  }
}

TEST_CASE("powersgd: a sum instead of a mean is so many times as large") {
  const Elements rows = 7, columns = 9;
  const Gradients gradients = {gaussian(rows * columns, 1), gaussian(rows * columns, 2)};
  const auto codec = powersgd(2);
  RoundRanks sums(*codec, 2, rows, columns), means(*codec, 2, rows, columns);
  std::vector<float> sum = sums.step(gradients, 0, 1).front();
  for (float& each : sum) each /= 2;
  CHECK(std::sqrt(relative_error(means.mean(gradients, 0), sum)) < 1e-5);
}

}  // namespace casync::compll
