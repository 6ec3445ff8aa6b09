// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/planning/codec_shares.h"

#include <algorithm>
#include <cstdio>

namespace casync::tools {

std::string codecs_of(const Decision& decision) {
  const std::string first = text_of(decision.codec);
  if (decision.second_hop == decision.codec) return first;
  return first + " + " + text_of(decision.second_hop) + " on the way back";
}

void CodecShares::add(const std::string& codecs, const GradientSpec& spec) {
  const auto found =
      std::find_if(shares_.begin(), shares_.end(), [&](const Share& one) { return one.codecs == codecs; });
  Share& share = found == shares_.end() ? shares_.emplace_back(Share{codecs}) : *found;
  ++share.gradients;
  share.bytes += static_cast<double>(spec.bytes());
}

std::string CodecShares::text() const {
  if (shares_.empty()) return "";
  double bytes = 0;
  std::size_t gradients = 0;
  for (const Share& share : shares_) gradients += share.gradients, bytes += share.bytes;
  char text[80];
  std::snprintf(text, sizeof text, "%zu gradient%s, %.3g MB: ", gradients, gradients == 1 ? "" : "s", bytes / 1e6);
  std::string all = text;
  std::vector<Share> sorted = shares_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Share& a, const Share& b) { return a.bytes > b.bytes; });
  for (const Share& share : sorted) {
    const bool first = &share == &sorted.front();
    std::snprintf(text, sizeof text, " for %zu (%.1f %%%s)", share.gradients, bytes > 0 ? 100 * share.bytes / bytes : 0,
                  first ? " of the bytes" : "");
    all += (first ? "" : ", ") + share.codecs + text;
  }
  return all;
}

nlohmann::ordered_json CodecShares::json() const {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Share& share : shares_) {
    all.push_back({{"codec", share.codecs}, {"gradients", share.gradients}, {"bytes", share.bytes}});
  }
  return all;
}

}  // namespace casync::tools
