// SPDX-License-Identifier: Apache-2.0
//
// topk_chunks, as interpreted: which chunks all ranks send, compared with loops over doubles.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/compll/codecs/sparse.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/round_ranks.h"

namespace casync::compll {
namespace {

using Gradients = std::vector<std::vector<float>>;

Gradients gradients_of(std::size_t ranks, Elements n, std::uint32_t step) {
  Gradients all;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto seed = 100 * step + static_cast<std::uint32_t>(rank);
    all.push_back(rank % 2 == 0 ? gaussian(n, seed) : laplace(n, seed));
  }
  return all;
}

/// The ranks' errors, and steps from them in doubles.
class Model {
 public:
  Model(std::size_t ranks, Elements n, double ratio, Elements chunk)
      : errors_(ranks, std::vector<double>(n, 0.0)), ratio_(ratio), chunk_(chunk) {}

  /// The mean over the ranks of the elements that are sent, zeros elsewhere.
  std::vector<double> step(const Gradients& gradients) {
    const Elements n = errors_.front().size(), chunks = (n + chunk_ - 1) / chunk_;
    std::vector<double> norms(chunks, 0.0);
    for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
      std::vector<double> squares(chunks, 0.0);
      for (Elements i = 0; i < n; ++i) {
        errors_[rank][i] += gradients[rank][i];
        squares[i / chunk_] += errors_[rank][i] * errors_[rank][i];
      }
      for (Elements c = 0; c < chunks; ++c) norms[c] += std::sqrt(squares[c]);
    }
    std::vector<Elements> order(chunks);
    std::iota(order.begin(), order.end(), Elements{0});
    std::sort(order.begin(), order.end(), [&](Elements a, Elements b) { return norms[a] > norms[b]; });
    order.resize(share_of(ratio_, chunks));
    std::vector<double> result(n, 0.0);
    for (const Elements c : order) {
      for (Elements i = c * chunk_; i < std::min(n, (c + 1) * chunk_); ++i) {
        for (std::vector<double>& error : errors_) {
          result[i] += error[i] / static_cast<double>(errors_.size());
          error[i] = 0;
        }
      }
    }
    return result;
  }
  const std::vector<double>& error(std::size_t rank) const { return errors_[rank]; }

 private:
  std::vector<std::vector<double>> errors_;
  double ratio_;
  Elements chunk_;
};

/// Number of results and errors that are not the model's, over some steps.
std::size_t faults(const RoundsCodec& codec, std::size_t count, Elements n, double ratio, Elements chunk) {
  RoundRanks ranks(codec, count, n, 1);
  Model model(count, n, ratio, chunk);
  std::size_t wrong = 0;
  for (std::uint32_t step = 0; step < 12; ++step) {
    const Gradients gradients = gradients_of(count, n, step);
    const Gradients results = ranks.step(gradients, step, 1 / static_cast<float>(count));
    const std::vector<double> wanted = model.step(gradients);
    for (std::size_t rank = 0; rank < count; ++rank) {
      for (Elements i = 0; i < n; ++i) {
        wrong += !(std::fabs(results[rank][i] - wanted[i]) <= 1e-5 * (1 + std::fabs(wanted[i])));
        wrong += !(std::fabs(ranks.states(rank)[i] - model.error(rank)[i]) <= 1e-4);
      }
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("topk_chunks: its declaration and its exchanges") {
  const auto codec = rounds_from_source("topk_chunks", {{"ratio", 0.25}, {"chunk", 64}});
  CHECK(codec->info().exchanges == std::vector<ExchangeKind>{ExchangeKind::kSum, ExchangeKind::kSum});
  CHECK_FALSE(codec->info().of_matrices);
  CHECK(codec->shape(1000, 1).exchanged == std::vector<Elements>{16, 4 * 64});
  CHECK(codec->shape(10, 100).states == 1000);
  CHECK(codec->shape(40, 1).exchanged == std::vector<Elements>{1, 40});
}

TEST_CASE("topk_chunks: all ranks send the chunks whose norms add up to the most, and keep the others") {
  for (const double ratio : {0.000001, 0.1, 0.5, 1.0}) {
    for (const Elements chunk : {16, 48, 64}) {
      const auto codec = rounds_from_source("topk_chunks", {{"ratio", ratio}, {"chunk", static_cast<double>(chunk)}});
      for (const std::size_t count : {1, 2, 3}) {
        for (const Elements n : {1, 15, 64, 65, 1000}) {
          INFO("ratio " << ratio << ", chunk " << chunk << ", " << count << " ranks, n " << n);
          CHECK(faults(*codec, count, n, ratio, chunk) == 0);
        }
      }
    }
  }
}

TEST_CASE("topk_chunks: ranks that choose by their own norms would be noticed") {
  const std::string own = changed(source_of("topk_chunks"), "largest(all, selected", "largest(norm, selected");
  const auto codec = rounds_from_text("topk_chunks", own, {{"ratio", 0.1}, {"chunk", 16}});
  CHECK(faults(*codec, 3, 1000, 0.1, 16) > 0);
}

TEST_CASE("topk_chunks: sizes of elements do not matter, zeros stay zeros, and NaN arrives as NaN on all ranks") {
  const auto codec = rounds_from_source("topk_chunks", {{"ratio", 0.1}, {"chunk", 16}});
  const Gradients gradients = gradients_of(2, 500, 1);
  RoundRanks plain(*codec, 2, 500, 1);
  const std::vector<float> given = plain.mean(gradients, 0);
  for (const int power : {-100, 100}) {
    INFO("times 2^" << power);
    Gradients other = gradients;
    for (std::vector<float>& each : other) {
      for (float& x : each) x = std::ldexp(x, power);
    }
    RoundRanks ranks(*codec, 2, 500, 1);
    std::vector<float> back = ranks.mean(other, 0);
    for (float& x : back) x = std::ldexp(x, -power);
    CHECK(back == given);
  }
  RoundRanks ranks(*codec, 2, 500, 1);
  CHECK(ranks.mean(Gradients(2, std::vector<float>(500)), 0) == std::vector<float>(500));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Gradients broken = gradients;
    broken[1][123] = bad;
    for (const std::vector<float>& result : ranks.step(broken, 1, 0.5f)) CHECK_FALSE(std::isfinite(result[123]));
    CHECK_FALSE(std::isfinite(ranks.exchanged()[0][123 / 16]));
  }
}

}  // namespace casync::compll
