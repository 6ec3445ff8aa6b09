// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "tools/casync/profile/contention.h"

#include "base/median.h"

namespace casync::tools {
namespace {

/// 0 where nothing was measured.
double times_of(const std::vector<Beside>& rounds) {
  if (rounds.empty()) return 0;
  const auto least = [&](double Beside::*seconds) {
    const auto by = [&](const Beside& a, const Beside& b) { return a.*seconds < b.*seconds; };
    return (*std::min_element(rounds.begin(), rounds.end(), by)).*seconds;
  };
  const double alone_s = least(&Beside::alone_s);
  return alone_s > 0 ? least(&Beside::beside_s) / alone_s : 0;
}

}  // namespace

Slowdown slowdown_of(std::string what, std::vector<std::vector<Beside>> rounds) {
  Slowdown made{std::move(what), std::move(rounds)};
  std::vector<double> all;
  for (const std::vector<Beside>& one : made.rounds) {
    if (const double times = times_of(one); times > 0) all.push_back(times);
  }
  if (all.empty()) return made;
  made.times = std::max(1.0, std::round(median(all) * 100) / 100);  // what is beyond two digits is noise
  for (const double times : all) {
    const double off = std::abs(made.times - times) / times;
    made.worst = std::max(made.worst, off);
    made.mean += off / static_cast<double>(all.size());
  }
  return made;
}

}  // namespace casync::tools
