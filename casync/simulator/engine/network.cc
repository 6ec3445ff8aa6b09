// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/engine/network.h"

#include <algorithm>
#include <utility>

#include "casync/graph/fuse.h"
#include "casync/simulator/engine/engine.h"

namespace casync::engine {
namespace {

std::uint64_t lane_key(Rank from, Rank to) {
  return std::uint64_t{static_cast<std::uint32_t>(from)} << 32 | static_cast<std::uint32_t>(to);
}

}  // namespace

Network::Network(Engine& engine)
    : engine_(engine),
      ports_(engine.routes.ports()),
      held_(engine.tasks.ranks()),
      fused_with_(engine.tasks.size(), kNoTask),
      since_(engine.tasks.size()),
      queued_as_(engine.tasks.size()) {
  if (!engine.scenario.mode.is_asynchronous()) under_way_.resize(engine.tasks.size());
  if (engine.scenario.credit_bytes > 0) credit_.resize(engine.tasks.size());
  if (!engine.routes.takes_processors()) return;
  to_leave_.resize(engine.tasks.size());
  to_arrive_.resize(engine.tasks.size());
}

void Network::mark(std::size_t port) {
  if (!std::exchange(ports_[port].marked, true)) marked_.push_back(port);
}

void Network::add_send(std::uint32_t send) {
  if (!under_way_.leave(send)) return;
  if (!engine_.routes.is_announced(send)) return queue_send(send);
  const double now = engine_.clock.now();
  since_[send] = now;
  engine_.clock.push(Event::Kind::kAnnounced, now, send, static_cast<std::uint32_t>(engine_.progress.step_of(send)),
                     engine_.tasks.rank_of(send), engine_.tasks.receiver_of(send), engine_.routes.distance_of(send));
}

void Network::queue_send(std::uint32_t send) {
  const UrgentTask ready = engine_.progress.urgent(send);
  queued_as_[send] = ready.arrival;
  const std::size_t port = engine_.routes.port_of(send);
  const Rank peer = engine_.tasks[send].peer;
  ports_[port].ready.push(ready);
  if (!engine_.routes.link_at(port).outcast.empty()) {
    ports_[port].receivers.add(engine_.routes.far_port_of(send));
  }
  if (engine_.scenario.fusion_bytes > 0) lanes_[lane_key(engine_.tasks.rank_of(send), peer)].push(ready);
  mark(port);
}

void Network::start_all() {
  engine_.clock.begin_wave();
  starting_.swap(marked_);
  for (const std::size_t port : starting_) {
    ports_[port].marked = false;
    start_sending(port);
  }
  starting_.clear();
}

/// Drops what has left from the top of a queue; false when nothing remains.
bool Network::clean(UrgentQueue& queue) const {
  while (!queue.empty() && queued_as_[queue.top().task] != queue.top().arrival) queue.pop();
  return !queue.empty();
}

/// With a credit, the port takes messages as far as it goes, while it is not free.
void Network::hand_over(Port& port) {
  while (clean(port.ready)) {
    const Bytes next = engine_.tasks[port.ready.top().task].bytes;
    if (port.under_way > 0 && port.under_way + next > engine_.scenario.credit_bytes) return;
    const std::uint32_t first = port.ready.pop().task;
    const Bytes bytes = fuse(first);
    port.under_way += bytes;
    port.handed_over.push_back({first, bytes});
  }
}

/// The message that a free port sends next.
std::optional<Network::HandedOver> Network::next_message(Port& port) {
  if (credit_.empty()) {
    if (!clean(port.ready)) return std::nullopt;
    const std::uint32_t first = port.ready.pop().task;
    return HandedOver{first, fuse(first)};
  }
  if (port.handed_over.empty()) return std::nullopt;
  const HandedOver next = port.handed_over.front();
  port.handed_over.pop_front();
  return next;
}

void Network::give_back_credit(std::uint32_t first) {
  const std::size_t port = engine_.routes.port_of(first);
  ports_[port].under_way -= credit_[first];
  mark(port);
}

void Network::release(Rank rank) {
  std::vector<std::size_t>& held = held_[static_cast<std::size_t>(rank)];
  for (const std::size_t port : held) mark(port);
  held.clear();
}

void Network::start_sending(std::size_t port) {
  Port& own = ports_[port];
  if (clean(own.ready)) {
    const Rank sender = engine_.tasks.rank_of(own.ready.top().task);
    if (engine_.processors.holds_messages(sender)) return held_[static_cast<std::size_t>(sender)].push_back(port);
  }
  if (!credit_.empty()) hand_over(own);
  if (own.sending) return;
  const std::optional<HandedOver> message = next_message(own);
  if (!message) return;
  const std::uint32_t first = message->first;
  const Link& link = engine_.routes.link_of(first);
  const double now = engine_.clock.now(), slowdown = link.outcast.at(own.receivers.ports());
  const auto bytes = static_cast<double>(message->bytes);
  const double seconds = (link.message_s + link.wire.at(bytes)) * slowdown;
  const Rank rank = engine_.tasks.rank_of(first);
  const int step = engine_.progress.step_of(first);
  if (!to_leave_.empty()) {
    const std::uint8_t sends = link.send_work.empty() ? 0 : 1, receives = link.receive_work.empty() ? 0 : 1;
    to_leave_[first] = static_cast<std::uint8_t>(1 + sends);
    to_arrive_[first] = static_cast<std::uint8_t>(1 + sends + receives);
    if (sends != 0) engine_.messages.add(rank, {first, step, MessageWork::Kind::kSend, link.send_work.at(bytes)});
  }
  own.sending = true;
  if (!link.outcast.empty()) since_[engine_.tasks[first].peer_task] = now + seconds + link.latency_s;
  engine_.record.add_message();
  engine_.record.add(rank, &StepParts::wire_s, seconds);
  engine_.clock.push(Event::Kind::kPortFree, now + seconds, first, 0, rank, rank);
  engine_.clock.push(Event::Kind::kHead, now + link.message_s + link.latency_s, first, static_cast<std::uint32_t>(step),
                     rank, engine_.tasks.receiver_of(first), engine_.routes.distance_of(first));
}

/// Takes along what fits into the same message, most urgent first. Returns its bytes.
Bytes Network::fuse(std::uint32_t first) {
  Bytes bytes = 0;
  std::size_t count = 0;
  const auto take = [&](std::uint32_t send) {
    ++count;
    bytes += engine_.tasks[send].bytes;
    if (!engine_.routes.is_announced(send)) since_[send] = engine_.clock.now();
    queued_as_[send] = 0;
    fused_with_[send] = kNoTask;
  };
  take(first);
  const Bytes most = engine_.scenario.fusion_bytes;
  if (most > 0) {
    UrgentQueue& lane = lanes_[lane_key(engine_.tasks.rank_of(first), engine_.tasks[first].peer)];
    for (std::uint32_t last = first; clean(lane);) {
      const std::uint32_t next = lane.top().task;
      if (!fuses(count, bytes, engine_.tasks[next].bytes, most)) break;
      take(next);
      last = fused_with_[last] = next;
    }
  }
  engine_.record.add_bytes(bytes);
  return bytes;
}

void Network::part_left(std::uint32_t first) {
  if (!to_leave_.empty() && --to_leave_[first] > 0) return;
  const Link& link = engine_.routes.link_of(first);
  if (!link.send_work.empty()) {
    // No run ends while its messages have not left: it is still in the step that they are of.
    engine_.clock.push(Event::Kind::kArrived, engine_.clock.now() + link.latency_s, first,
                       static_cast<std::uint32_t>(engine_.progress.step_of(first)), engine_.tasks.rank_of(first),
                       engine_.tasks.receiver_of(first), engine_.routes.distance_of(first));
  }
  free_port(first);
}

void Network::free_port(std::uint32_t first) {
  const std::size_t port = engine_.routes.port_of(first);
  ports_[port].sending = false;
  mark(port);
  const bool counted = !engine_.routes.link_at(port).outcast.empty();
  for (std::uint32_t send = first; send != kNoTask; send = fused_with_[send]) {
    if (counted) ports_[port].receivers.remove(engine_.routes.far_port_of(send));
    engine_.progress.keep_span(send, since_[send]);
    engine_.progress.complete(send);
  }
}

/// The bytes of a message with all that has joined it.
Bytes Network::bytes_of(std::uint32_t first) const {
  Bytes bytes = 0;
  for (std::uint32_t send = first; send != kNoTask; send = fused_with_[send]) bytes += engine_.tasks[send].bytes;
  return bytes;
}

void Network::head_arrives(std::uint32_t first, std::uint32_t step) {
  const std::uint32_t recv = engine_.tasks[first].peer_task;
  const Rank receiver = engine_.tasks.rank_of(recv);
  Port& port = ports_[engine_.routes.port_of(recv)];
  const Bytes bytes = bytes_of(first);
  const double begins = std::max(engine_.clock.now(), port.receives_until);
  const Link& link = engine_.routes.link_of(first);
  // A sender that many receivers slow down is not overtaken by its own message.
  const double left = link.outcast.empty() ? begins : since_[recv];
  for (std::uint32_t send = first; send != kNoTask; send = fused_with_[send]) {
    since_[engine_.tasks[send].peer_task] = begins;
  }
  if (!link.incast.empty()) port.senders.add(engine_.routes.far_port_of(recv));
  port.receives_until = begins + link.wire.at(static_cast<double>(bytes)) * link.incast.at(port.senders.ports());
  engine_.clock.push(Event::Kind::kArrived, std::max(port.receives_until, left), first, step, receiver, receiver);
  if (!link.receive_work.empty()) {
    const double seconds = link.receive_work.at(static_cast<double>(bytes));
    engine_.messages.add(receiver, {first, static_cast<int>(step), MessageWork::Kind::kReceive, seconds});
  }
}

void Network::part_arrived(std::uint32_t first, int step) {
  if (to_arrive_.empty() || --to_arrive_[first] == 0) arrived(first, step);
}

void Network::arrived(std::uint32_t first, int step) {
  const std::uint32_t first_recv = engine_.tasks[first].peer_task;
  const Link& link = engine_.routes.link_of(first);
  if (!link.incast.empty()) {
    ports_[engine_.routes.port_of(first_recv)].senders.remove(engine_.routes.far_port_of(first_recv));
  }
  if (!credit_.empty()) {
    credit_[first] = bytes_of(first);
    engine_.clock.push(Event::Kind::kCredit, engine_.clock.now() + link.latency_s, first,
                       static_cast<std::uint32_t>(step), engine_.tasks.receiver_of(first), engine_.tasks.rank_of(first),
                       engine_.routes.distance_of(first_recv));
  }
  for (std::uint32_t send = first; send != kNoTask;) {
    const std::uint32_t next = fused_with_[send];
    engine_.progress.arrive(engine_.tasks[send].peer_task, step);
    if (under_way_.arrive(send)) add_send(send);
    send = next;
  }
}

}  // namespace casync::engine
