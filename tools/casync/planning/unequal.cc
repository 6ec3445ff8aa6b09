// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/planning/unequal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace casync::tools {
namespace {

constexpr std::size_t kNamedRanks = 8;

/// "rank 3 computes 1.5 times as long as the others", "ranks 2, 3 compute 1.5 to 2 times as long as the others".
std::string longer_or_shorter(const std::vector<SlowRank>& ranks) {
  std::vector<Rank> names;
  for (const SlowRank& one : ranks) names.push_back(one.rank);
  std::string text = ranks.size() == 1             ? fmt::format("rank {} computes ", names[0])
                     : ranks.size() <= kNamedRanks ? fmt::format("ranks {} compute ", fmt::join(names, ", "))
                                                   : fmt::format("{} ranks compute ", ranks.size());
  const auto [least, most] = std::minmax_element(
      ranks.begin(), ranks.end(), [](const SlowRank& a, const SlowRank& b) { return a.factor < b.factor; });
  text += fmt::format("{:.3g}", least->factor);
  if (most->factor > least->factor) text += fmt::format(" to {:.3g}", most->factor);
  return text + " times as long as the others";
}

}  // namespace

std::string text_of_unequal(const Training& training) {
  std::vector<SlowRank> slow, fast;
  for (const SlowRank& one : training.slow) {
    if (one.factor != 1) (one.factor > 1 ? slow : fast).push_back(one);
  }
  std::string text;
  if (!slow.empty()) {
    text = longer_or_shorter(slow) + ": the step waits for " + (slow.size() == 1 ? "it" : "them") +
           ", and no codec changes that";
  }
  if (!fast.empty())
    text += (text.empty() ? "" : "; ") + longer_or_shorter(fast) +
            (fast.size() == 1 ? " and waits for them" : " and wait for them");
  return text;
}

}  // namespace casync::tools
