// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/links.h"

#include <algorithm>
#include <utility>

#include "casync/graph/fuse.h"

namespace casync::runtime {

Links::Links(const ExecutorOptions& options, Transport& transport, MakeOutgoing outgoing)
    : options_(options),
      transport_(transport),
      outgoing_(std::move(outgoing)),
      links_(static_cast<std::size_t>(options.ranks)) {
  fused_.reserve(kMostFused);
  busy_.reserve(links_.size());
  if (options.coordinated && options.rank == 0) coordinator_ = std::make_unique<LinkCoordinator>(options.ranks);
}

void Links::reserve(std::span<GradientRun* const> runs) {
  std::vector<std::size_t> sends(links_.size());
  for (const GradientRun* run : runs) {
    for (const Primitive& task : run->graph.tasks()) {
      if (const Send* send = std::get_if<Send>(&task)) ++sends[static_cast<std::size_t>(send->to)];
    }
  }
  for (std::size_t peer = 0; peer < links_.size(); ++peer) links_[peer].ready.reserve(sends[peer]);
}

void Links::mark_busy(Rank peer) {
  if (!std::exchange(link(peer).busy, true)) busy_.push_back(peer);
}

void Links::push(Rank to, const ReadyTask& ready) {
  link(to).ready.push(ready);
  mark_busy(to);
}

bool Links::flush() {
  const bool any = credit_ != nullptr && send_words();
  if (busy_.empty() && coordinator_ == nullptr) return any;
  const Clock::time_point now = Clock::now();
  if (options_.coordinated) return flush_coordinated(now);
  if (credit_ != nullptr) return flush_by_credit(now) || any;
  return flush_by_pace(now);
}

bool Links::flush_by_pace(Clock::time_point now) {
  bool any = false;
  std::size_t kept = 0;
  for (const Rank peer : busy_) {
    PeerLink& one = link(peer);
    while (!take_stale(one.ready) && one.pace.is_open(now, is_crowded())) {
      flush_one(peer, now);
      any = true;
    }
    one.busy = !one.ready.empty();
    if (one.busy) busy_[kept++] = peer;
  }
  busy_.resize(kept);
  return any;
}

/// Hands over the most urgent send of a link, and those that travel with it.
void Links::flush_one(Rank peer, Clock::time_point now) {
  PeerLink& one = link(peer);
  fused_.clear();
  Bytes sum = 0;
  do {
    const ReadyTask ready = one.ready.pop();
    fused_.push_back(outgoing_(ready));
    ready.run->since[TaskGraph::index(ready.task)] = Clock::now();
    if (ready.run->parts) {
      ++ready.run->parts->sends_begun;
      ++ready.run->parts->sends_out;
    }
    const Bytes bytes = fused_.back().payload.size;
    one.pace.handed_over(bytes, now);
    if (credit_ != nullptr) credit_->handed_over(peer, fused_.back().message.key, bytes);
    under_way_ += bytes;
    sum += bytes;
  } while (!take_stale(one.ready) &&
           fuses(fused_.size(), sum, outgoing_(one.ready.top()).payload.size, options_.fusion_bytes));
  transport_.send(peer, fused_);
}

void Links::sent(Rank to, Bytes bytes) {
  PeerLink& one = link(to);
  one.pace.sent(bytes, Clock::now());
  if (one.in_grant && one.pace.idle()) end_grant(to);
  under_way_ -= bytes;
}

Clock::time_point Links::due() const {
  if (options_.coordinated) return coordination_due();
  Clock::time_point due = Clock::time_point::max();
  if (credit_ != nullptr) return due;  // word of an arrival wakes the transport
  for (const Rank peer : busy_) due = std::min(due, link(peer).pace.opens_at(is_crowded()));
  return due;
}

}  // namespace casync::runtime
