// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/one_rank/ports.h"

#include <algorithm>
#include <vector>

#include "casync/graph/fuse.h"
#include "casync/simulator/one_rank.h"

namespace casync::one_rank {

void Ports::reset(Bytes fusion_bytes) {
  fusion_bytes_ = fusion_bytes;
  ports_[0] = ports_[1] = {};
}

void Ports::start(bool between) {
  Port& port = ports_[between ? 1 : 0];
  if (port.sending || port.ready.empty() || (rank_.one_thread() && rank_.codec.is_running())) return;
  const double now = rank_.clock.now();
  std::vector<std::uint32_t> together;
  double seconds = 0, receive_s = 0, head_s = 0, latency_s = 0, bytes = 0;
  MessageWorkSeconds work;
  while (!port.ready.empty()) {
    const std::uint32_t item = port.ready.top().task;
    const Stage& stage = rank_.stages.stage_of(item);
    const double each = stage.bytes / std::max(1.0, stage.messages);
    if (!together.empty() &&
        (!stage.joins || !fuses(together.size(), static_cast<Bytes>(bytes), static_cast<Bytes>(each), fusion_bytes_))) {
      break;
    }
    port.ready.pop();
    seconds += stage.seconds - (together.empty() ? 0 : stage.message_s);
    receive_s += stage.receive_s;
    work.send_s += stage.work.send_s - (together.empty() ? 0 : stage.work_each.send_s);
    work.receive_s += stage.work.receive_s - (together.empty() ? 0 : stage.work_each.receive_s);
    if (together.empty()) rank_.record.add_messages(stage.messages);
    head_s = stage.head_s;
    latency_s = stage.latency_s;
    rank_.record.add_bytes(stage.bytes);
    bytes += each;
    together.push_back(item);
    if (!stage.joins) break;
  }
  port.sending = true;
  rank_.record.add(&StepParts::wire_s, seconds);
  const double begins = std::max(now + head_s, port.receives_until);
  port.receives_until = begins + receive_s;
  const double arrives = std::max(port.receives_until, now + seconds + latency_s);
  if (rank_.messages_work()) return rank_.messages.send(together, work, seconds, head_s, arrives);
  rank_.clock.push(now + seconds, Event::Kind::kPortFree, between ? 1 : 0);
  for (const std::uint32_t item : together) {
    rank_.clock.push(arrives + rank_.stages.stage_of(item).then_s, Event::Kind::kArrived, item);
  }
}

}  // namespace casync::one_rank
