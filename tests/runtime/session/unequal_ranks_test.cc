// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/unequal_ranks.h"

#include <catch2/catch.hpp>
#include <random>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// Paces of ranks 0, 1, ... with these medians in milliseconds.
std::map<Rank, Pace> paces_of(std::initializer_list<double> ms, double scatter_ms = 1, int steps = 31) {
  std::map<Rank, Pace> paces;
  for (const double each : ms) {
    paces[static_cast<Rank>(paces.size())] = {each * 1e-3, scatter_ms * 1e-3, steps};
  }
  return paces;
}

/// A description of 100 ms: that of rank 0 with this pace.
Training trained(const Pace& pace) {
  Training training;
  training.backward_s = 0.6 * pace.median_s;
  training.forward_s = 0.4 * pace.median_s;
  training.gradients.push_back({{"a", DType::kFloat32, {4}, 0}, 0.5 * training.backward_s, 0.25 * training.forward_s});
  return training;
}

/// "2:1.5 3:0.8" of a job with these paces.
std::string found(const std::map<Rank, Pace>& paces, Training* made = nullptr) {
  Training training = trained(paces.begin()->second);
  add_unequal_ranks(paces, training);
  std::string text;
  for (const SlowRank& slow : training.slow) {
    text += (text.empty() ? "" : " ") + std::to_string(slow.rank) + ":" + std::to_string(slow.factor).substr(0, 4);
  }
  if (made != nullptr) *made = training;
  return text;
}

}  // namespace

TEST_CASE("unequal ranks: a rank that takes longer, and one that takes less, are found with their factors") {
  CHECK(found(paces_of({100, 100, 150, 101})) == "2:1.50");
  CHECK(found(paces_of({100, 101, 100, 50})) == "3:0.50");
  CHECK(found(paces_of({100, 150})) == "1:1.50");
  CHECK(found(paces_of({100, 100, 133.337, 250})) == "2:1.33 3:2.50");
}

TEST_CASE("unequal ranks: equal ranks stay equal, and their description as it was") {
  Training made;
  const std::map<Rank, Pace> paces = paces_of({100, 103, 98, 104.9}, 0);
  CHECK(found(paces, &made).empty());
  CHECK(made.backward_s == trained(paces.at(0)).backward_s);
  CHECK(made.gradients[0].need_s == trained(paces.at(0)).gradients[0].need_s);
}

TEST_CASE("unequal ranks: less than the scatter of either rank's steps is nothing") {
  CHECK(found(paces_of({100, 100, 120}, 25)).empty());
  CHECK(found(paces_of({100, 100, 126}, 25)) == "2:1.26");
  std::map<Rank, Pace> paces = paces_of({100, 100, 120}, 1);
  paces[2].scatter_s = 0.025;
  CHECK(found(paces).empty());
  paces = paces_of({100, 100, 120}, 1);
  paces[1].scatter_s = 0.025;  // the middle one: of equal ones the second
  CHECK(found(paces).empty());
}

TEST_CASE("unequal ranks: a twentieth, or a tenth of a millisecond, is nothing however steady the steps are") {
  CHECK(found(paces_of({100, 100, 104.9}, 0)).empty());
  CHECK(found(paces_of({100, 100, 105.1}, 0)) == "2:1.05");
  CHECK(found(paces_of({0.1, 0.1, 0.19}, 0)).empty());
  CHECK(found(paces_of({0.1, 0.1, 0.21}, 0)) == "2:2.10");
}

TEST_CASE("unequal ranks: where rank 0 itself differs, the passes are the middle rank's") {
  Training made;
  CHECK(found(paces_of({150, 100, 102}), &made) == "0:1.47");
  CHECK(made.backward_s + made.forward_s == Approx(0.102));
  CHECK(made.gradients[0].ready_s == Approx(0.5 * made.backward_s));
  CHECK(made.gradients[0].need_s == Approx(0.25 * made.forward_s));
  CHECK(found(paces_of({150, 100}), &made) == "0:1.50");
  CHECK(made.backward_s + made.forward_s == Approx(0.100));
  CHECK(found(paces_of({60, 100, 100}), &made) == "0:0.60");
  CHECK(made.backward_s + made.forward_s == Approx(0.100));
}

TEST_CASE("unequal ranks: each rank's passes are what it took, whoever is the base") {
  std::mt19937 random(20261127);
  for (int job = 0; job < 200; ++job) {
    std::map<Rank, Pace> paces;
    for (Rank rank = 0; rank < 6; ++rank) paces[rank] = {0.05 + 1e-4 * static_cast<double>(random() % 1000), 1e-3, 31};
    Training made;
    if (found(paces, &made).empty()) continue;
    for (const SlowRank& slow : made.slow) {
      const double passes_s = slow.factor * (made.backward_s + made.forward_s);
      CHECK(passes_s == Approx(paces.at(slow.rank).median_s).epsilon(0.01));
    }
  }
}

TEST_CASE("unequal ranks: a rank that computes nothing has the least factor there is") {
  CHECK(found(paces_of({100, 100, 0.01})) == "2:0.01");
}

TEST_CASE("unequal ranks: what is of too few steps does not count, and without rank 0 nothing is compared") {
  std::map<Rank, Pace> paces = paces_of({100, 100, 150, 200});
  paces[2].steps = kLeastPaceSteps - 1;
  CHECK(found(paces) == "3:2.00");
  paces[0].steps = kLeastPaceSteps - 1;
  CHECK(found(paces).empty());
  CHECK(found(paces_of({100})).empty());
  CHECK(found(paces_of({0, 100, 150})).empty());
}

TEST_CASE("unequal ranks: ranks that cannot be compared are named, each with its reason") {
  const Pace own{0.1, 0, 31};
  const std::map<Rank, std::optional<Pace>> others = {{1, own}, {2, std::nullopt}, {4, Pace{0.1, 0, 3}}};
  CHECK(not_compared(2, own, others).empty());
  CHECK(not_compared(5, own, others) ==
        "rank 3 left without a goodbye; rank 2 recorded nothing (CASYNC_RECORD); rank 4 recorded fewer than 16 steps");
  CHECK(not_compared(3, own, {}) == "ranks 1, 2 left without a goodbye");
  CHECK(not_compared(40, own, {}) == "39 ranks, the first is rank 1, left without a goodbye");
  CHECK(not_compared(5, Pace{0.1, 0, 3}, others).empty());  // a run of a few steps compares nobody
}
