// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/one_rank/messages.h"

#include "casync/simulator/one_rank.h"

namespace casync::one_rank {

void Messages::reset() {
  work_ = Work(Event::Kind::kMessages);
  waiting_.clear();
  messages_.clear();
}

void Messages::start() {
  const double rate = rank_.training.is_running() ? 1 / rank_.profile.contention.encode : 1;
  if (!work_.running() && !waiting_.empty() && !(rank_.one_thread() && rank_.codec.is_running())) {
    began_ = rank_.clock.now();
    work_.start(rank_.clock, waiting_.front().seconds, rate);
  }
  work_.change_rate(rank_.clock, rate);
}

void Messages::end(const Event& event) {
  if (!work_.ends_with(event)) return;
  const Waiting work = waiting_.front();
  waiting_.pop_front();
  work_.stop();
  rank_.record.add(&StepParts::messages_s, rank_.clock.now() - began_);
  rank_.record.add(&StepParts::processor_s, work.seconds);
  if (work.sending) {
    part_left(work.first);
  } else {
    part_arrived(work.first);
  }
}

void Messages::send(std::span<const std::uint32_t> together, MessageWorkSeconds work, double seconds, double head_s,
                    double arrives) {
  const std::uint32_t first = together.front();
  messages_.resize(rank_.stages.size());
  for (std::size_t i = 0; i < together.size(); ++i) {
    messages_[together[i]].next = i + 1 < together.size() ? together[i + 1] : first;
  }
  messages_[first].to_leave = 2;
  messages_[first].to_arrive = 3;
  messages_[first].receive_work_s = work.receive_s;
  waiting_.push_back({first, true, work.send_s});
  const double now = rank_.clock.now();
  rank_.clock.push(now + seconds, Event::Kind::kPortFree, first);
  rank_.clock.push(now + head_s, Event::Kind::kHead, first);
  rank_.clock.push(arrives, Event::Kind::kArrived, first, kPartOfMessage);
}

void Messages::part_left(std::uint32_t first) {
  if (--messages_[first].to_leave > 0) return;
  const Stage& stage = rank_.stages.stage_of(first);
  rank_.ports.free(stage.between);
  rank_.clock.push(rank_.clock.now() + stage.latency_s, Event::Kind::kArrived, first, kPartOfMessage);
}

void Messages::part_arrived(std::uint32_t first) {
  if (--messages_[first].to_arrive > 0) return;
  for (std::uint32_t item = first;;) {
    const std::uint32_t next = messages_[item].next;
    rank_.clock.push(rank_.clock.now() + rank_.stages.stage_of(item).then_s, Event::Kind::kArrived, item);
    if (next == first) return;
    item = next;
  }
}

}  // namespace casync::one_rank
