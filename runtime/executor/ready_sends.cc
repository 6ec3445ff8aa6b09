// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/ready_sends.h"

#include <variant>

namespace casync::runtime {

ReadySends::ReadySends(int ranks)
    : queues_(static_cast<std::size_t>(ranks)), is_listed_(static_cast<std::size_t>(ranks)) {
  listed_.reserve(queues_.size());
}

void ReadySends::reserve(std::span<GradientRun* const> runs) {
  std::vector<std::size_t> sends(queues_.size());
  for (const GradientRun* run : runs) {
    for (const Primitive& task : run->graph.tasks()) {
      if (const Send* send = std::get_if<Send>(&task)) ++sends[static_cast<std::size_t>(send->to)];
    }
  }
  for (std::size_t peer = 0; peer < queues_.size(); ++peer) queues_[peer].reserve(sends[peer]);
}

void ReadySends::push(Rank to, const ReadyTask& ready) {
  queue(to).push(ready);
  list(to);
}

void ReadySends::list(Rank peer) {
  const auto at = static_cast<std::size_t>(peer);
  if (is_listed_[at]) return;
  is_listed_[at] = true;
  listed_.push_back(peer);
}

}  // namespace casync::runtime
