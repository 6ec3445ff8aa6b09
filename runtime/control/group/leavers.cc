// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/leavers.h"

#include <utility>

namespace casync::runtime {

std::vector<Goodbye> Leavers::take(Clock::time_point now) {
  std::vector<Goodbye> goodbyes;
  for (auto& [last_words, ranks] : waiting_) goodbyes.push_back({std::move(ranks), last_words});
  waiting_.clear();
  next_ = now + kPause;
  return goodbyes;
}

}  // namespace casync::runtime
