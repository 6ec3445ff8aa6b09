// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/unequal_ranks.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/control/group/gather_book.h"

namespace casync::runtime {
namespace {

constexpr double kHundredths = 100;
constexpr std::size_t kNamedRanks = 8;

bool counts(const Pace& pace) { return pace.steps >= kLeastPaceSteps; }

bool differs(const Pace& pace, const Pace& middle) {
  const double least =
      std::max({pace.scatter_s, middle.scatter_s, kLeastPacePart * middle.median_s, kLeastPaceSeconds});
  return std::abs(pace.median_s - middle.median_s) > least;
}

std::string named(const std::vector<Rank>& ranks) {
  if (ranks.size() <= kNamedRanks) return list_ranks(ranks);
  return std::to_string(ranks.size()) + " ranks, the first is rank " + std::to_string(ranks.front()) + ",";
}

double rounded(double factor) { return std::max(1.0, std::round(factor * kHundredths)) / kHundredths; }

/// To whole nanoseconds, which clocks have.
void scale(double& seconds, double factor) { seconds = std::round(seconds * factor * 1e9) / 1e9; }

void scale(Training& training, double factor) {
  scale(training.backward_s, factor);
  scale(training.forward_s, factor);
  for (TrainedGradient& gradient : training.gradients) {
    scale(gradient.ready_s, factor);
    scale(gradient.need_s, factor);
  }
}

}  // namespace

void add_unequal_ranks(const std::map<Rank, Pace>& paces, Training& training) {
  std::vector<std::pair<Rank, Pace>> known;
  for (const auto& [rank, pace] : paces) {
    if (counts(pace)) known.emplace_back(rank, pace);
  }
  if (known.size() < 2 || known.front().first != 0 || !(known.front().second.median_s > 0)) return;
  const double own_s = known.front().second.median_s;
  std::vector<std::pair<Rank, Pace>> sorted = known;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.median_s < b.second.median_s; });
  const Pace middle = sorted[(sorted.size() - 1) / 2].second;
  if (!(middle.median_s > 0)) return;
  for (const auto& [rank, pace] : known) {
    if (differs(pace, middle)) training.slow.push_back({rank, rounded(pace.median_s / middle.median_s)});
  }
  if (!training.slow.empty()) scale(training, middle.median_s / own_s);
}

std::string not_compared(int ranks, const Pace& own, const std::map<Rank, std::optional<Pace>>& others) {
  if (!counts(own)) return "";
  std::vector<Rank> gone, silent, short_of_steps;
  for (Rank rank = 1; rank < ranks; ++rank) {
    const auto found = others.find(rank);
    if (found == others.end()) {
      gone.push_back(rank);
    } else if (!found->second) {
      silent.push_back(rank);
    } else if (!counts(*found->second)) {
      short_of_steps.push_back(rank);
    }
  }
  std::string text;
  const auto add = [&](const std::vector<Rank>& which, const std::string& why) {
    if (!which.empty()) text += (text.empty() ? "" : "; ") + named(which) + why;
  };
  add(gone, " left without a goodbye");
  add(silent, " recorded nothing (CASYNC_RECORD)");
  add(short_of_steps, " recorded fewer than " + std::to_string(kLeastPaceSteps) + " steps");
  return text;
}

}  // namespace casync::runtime
