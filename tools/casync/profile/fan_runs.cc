// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "tools/casync/profile/fans.h"

namespace casync::tools {
namespace {

constexpr std::size_t kPeers[] = {3, 7};  // peers: four and eight ranks

}  // namespace

std::vector<FanRun> fan_runs(Rank root, std::vector<Rank> peers) {
  peers.resize(std::min(peers.size(), kPeers[1]));
  if (peers.size() < 2) return {};
  std::vector<std::size_t> counts;
  for (const std::size_t count : kPeers) {
    if (count < peers.size()) counts.push_back(count);
  }
  counts.push_back(peers.size());
  std::vector<FanRun> runs;
  for (const FanRun::Kind kind : {FanRun::Kind::kIncast, FanRun::Kind::kOutcast}) {
    for (const Rank peer : peers) runs.push_back({kind, root, {peer}});
    for (const std::size_t count : counts) {
      runs.push_back({kind, root, {peers.begin(), peers.begin() + static_cast<std::ptrdiff_t>(count)}});
    }
  }
  return runs;
}

MeasuredFan fan_of(FanRun::Kind kind, const std::vector<FanRun>& runs, const std::vector<double>& seconds) {
  std::map<Rank, double> alone;
  MeasuredFan made;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].kind != kind) continue;
    const std::vector<Rank>& peers = runs[i].peers;
    if (peers.size() == 1) {
      alone[peers[0]] = seconds[i];
      continue;
    }
    double one_by_one = 0;
    for (const Rank peer : peers) one_by_one += alone[peer] / static_cast<double>(peers.size());
    const double slowdown = one_by_one > 0 ? std::round(seconds[i] / one_by_one * 1000) / 1000 : 1;
    made.seen.push_back({static_cast<int>(peers.size()), slowdown});
    made.fan.points.push_back({static_cast<int>(peers.size()), std::max(1.0, slowdown)});
  }
  return made;
}

}  // namespace casync::tools
