// SPDX-License-Identifier: Apache-2.0
//
// Messages: a port sends one at a time and receives one at a time. A message goes through as it comes (its first byte
// arrives before its last has left) unless another one is still arriving at the same port: then it waits in the switch,
// and no other after it at the sender. If messages take processor time, one has left when its sender's
// processors are through with it, too, and is there when its receiver's are.
#include <algorithm>
#include <utility>

#include "casync/graph/fuse.h"
#include "casync/simulator/engine.h"

namespace casync {
namespace {

int node_of(const Topology& topology, Rank rank) {
  return topology.node_of.empty() ? 0 : topology.node_of[static_cast<std::size_t>(rank)];
}

std::uint64_t lane_key(Rank from, Rank to) {
  return std::uint64_t{static_cast<std::uint32_t>(from)} << 32 | static_cast<std::uint32_t>(to);
}

}  // namespace

/// The port at this end of a message.
std::size_t Engine::port_of(std::uint32_t message) const {
  const Rank rank = rank_of(message);
  const int node = node_of(scenario_.topology, rank);
  if (node == node_of(scenario_.topology, tasks_[message].peer)) return static_cast<std::size_t>(rank);
  return ranks_.size() + static_cast<std::size_t>(scenario_.profile.node_shares_port ? node : rank);
}

const Link& Engine::link_of(std::uint32_t message) const {
  const Topology& topology = scenario_.topology;
  const bool inside = node_of(topology, rank_of(message)) == node_of(topology, tasks_[message].peer);
  return inside ? scenario_.profile.inside : scenario_.profile.between;
}

int Engine::distance_of(std::uint32_t message) const {
  const int ranks = scenario_.topology.ranks;
  return (tasks_[message].peer - rank_of(message) + ranks) % ranks;
}

void Engine::add_send(std::uint32_t send) {
  if (!under_way_.leave(send)) return;
  if (!is_announced(send)) return queue_send(send);
  since_[send] = now_;
  push(Event::Kind::kAnnounced, now_, send, static_cast<std::uint32_t>(step_of(send)), rank_of(send), receiver_of(send),
       distance_of(send));
}

/// Only with one processor: with more, messages have one that answers at once.
bool Engine::is_announced(std::uint32_t send) const {
  if (scenario_.profile.processors != 1) return false;
  const double from = link_of(send).announced_bytes;
  return from > 0 && static_cast<double>(tasks_[send].bytes) >= from;
}

void Engine::queue_send(std::uint32_t send) {
  const UrgentTask ready = urgent(send);
  queued_as_[send] = ready.arrival;
  const std::size_t port = port_of(send);
  ports_[port].ready.push(ready);
  if (!link_at(port).outcast.empty()) ports_[port].receivers.add(tasks_[send].peer);
  if (scenario_.fusion_bytes > 0) lanes_[lane_key(rank_of(send), tasks_[send].peer)].push(ready);
  if (!std::exchange(ports_[port].dirty, true)) dirty_ports_.push_back(port);
}

/// Drops what has left from the top of a queue; false when nothing remains.
bool Engine::clean(UrgentQueue& queue) const {
  while (!queue.empty() && queued_as_[queue.top().task] != queue.top().arrival) queue.pop();
  return !queue.empty();
}

/// With a credit, the port takes messages as far as it goes, before it is free.
void Engine::hand_over(Port& port) {
  while (clean(port.ready)) {
    const Bytes next = tasks_[port.ready.top().task].bytes;
    if (port.under_way > 0 && port.under_way + next > scenario_.credit_bytes) return;
    const std::uint32_t first = port.ready.pop().task;
    const Bytes bytes = fuse(first);
    credit_of(first, step_of(first)) = bytes;
    port.under_way += bytes;
    port.handed_over.push_back({first, bytes});
  }
}

/// The message that a free port sends next.
std::optional<Engine::HandedOver> Engine::next_message(Port& port) {
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

void Engine::give_back_credit(std::uint32_t first, int step) {
  const std::size_t port = port_of(first);
  ports_[port].under_way -= credit_of(first, step);
  if (!std::exchange(ports_[port].dirty, true)) dirty_ports_.push_back(port);
}

void Engine::start_sending(std::size_t port) {
  Port& own = ports_[port];
  if (!credit_.empty()) hand_over(own);
  if (own.sending) return;
  const std::optional<HandedOver> message = next_message(own);
  if (!message) return;
  const std::uint32_t first = message->first;
  const Link& link = link_of(first);
  const double slowdown = link.outcast.at(own.receivers.peers());
  const auto bytes = static_cast<double>(message->bytes);
  const double seconds = (link.message_s + link.wire.at(bytes)) * slowdown;
  RankState& sender = state(rank_of(first));
  if (!to_leave_.empty()) {
    const std::uint8_t sends = link.send_work.empty() ? 0 : 1, receives = link.receive_work.empty() ? 0 : 1;
    to_leave_[first] = static_cast<std::uint8_t>(1 + sends);
    to_arrive_[first] = static_cast<std::uint8_t>(1 + sends + receives);
    if (sends != 0)
      add_work(rank_of(first), {first, step_of(first), MessageWork::Kind::kSend, link.send_work.at(bytes)});
  }
  own.sending = true;
  if (!link.outcast.empty()) since_[tasks_[first].peer_task] = now_ + seconds + link.latency_s;
  ++messages_;
  sender.sums.wire_s += seconds;
  const Rank rank = rank_of(first);
  push(Event::Kind::kPortFree, now_ + seconds, first, 0, rank, rank);
  push(Event::Kind::kHead, now_ + link.message_s + link.latency_s, first, static_cast<std::uint32_t>(step_of(first)),
       rank, receiver_of(first), distance_of(first));
}

/// Takes along what fits into the same message, most urgent first. Returns its bytes.
Bytes Engine::fuse(std::uint32_t first) {
  Bytes bytes = 0;
  std::size_t count = 0;
  const auto take = [&](std::uint32_t send) {
    ++count;
    bytes += tasks_[send].bytes;
    if (!is_announced(send)) since_[send] = now_;
    queued_as_[send] = 0;
    fused_with_[send] = kNoTask;
  };
  take(first);
  if (scenario_.fusion_bytes > 0) {
    UrgentQueue& lane = lanes_[lane_key(rank_of(first), tasks_[first].peer)];
    for (std::uint32_t last = first; clean(lane);) {
      const std::uint32_t next = lane.top().task;
      if (!fuses(count, bytes, tasks_[next].bytes, scenario_.fusion_bytes)) break;
      take(next);
      last = fused_with_[last] = next;
    }
  }
  bytes_sent_ += static_cast<double>(bytes);
  return bytes;
}

/// The port, or the sender's processors, are through with it.
void Engine::part_left(std::uint32_t first) {
  if (!to_leave_.empty() && --to_leave_[first] > 0) return;
  const Link& link = link_of(first);
  if (!link.send_work.empty()) {
    // No run ends before its messages have left: it is still in the step that they are of.
    const Rank rank = rank_of(first);
    push(Event::Kind::kArrived, now_ + link.latency_s, first, static_cast<std::uint32_t>(step_of(first)), rank,
         receiver_of(first), distance_of(first));
  }
  port_free(first);
}

void Engine::port_free(std::uint32_t first) {
  const std::size_t port = port_of(first);
  ports_[port].sending = false;
  if (!std::exchange(ports_[port].dirty, true)) dirty_ports_.push_back(port);
  const bool counted = !link_at(port).outcast.empty();
  for (std::uint32_t send = first; send != kNoTask; send = fused_with_[send]) {
    if (counted) ports_[port].receivers.remove(tasks_[send].peer);
    keep_span(send, since_[send]);
    complete(send);
  }
}

void Engine::head_arrives(std::uint32_t first, std::uint32_t step) {
  const std::uint32_t recv = tasks_[first].peer_task;
  const Rank receiver = rank_of(recv);
  Port& port = ports_[port_of(recv)];
  Bytes bytes = 0;
  const double begins = std::max(now_, port.receives_until);
  const Link& link = link_of(first);
  // A sender that many receivers slow down is not overtaken by its own message.
  const double left = link.outcast.empty() ? begins : since_[recv];
  for (std::uint32_t send = first; send != kNoTask; send = fused_with_[send]) {
    bytes += tasks_[send].bytes;
    since_[tasks_[send].peer_task] = begins;
  }
  if (!link.incast.empty()) port.senders.add(tasks_[recv].peer);
  port.receives_until = begins + link.wire.at(static_cast<double>(bytes)) * link.incast.at(port.senders.peers());
  push(Event::Kind::kArrived, std::max(port.receives_until, left), first, step, receiver, receiver);
  if (!link.receive_work.empty()) {
    const double seconds = link.receive_work.at(static_cast<double>(bytes));
    add_work(receiver, {first, static_cast<int>(step), MessageWork::Kind::kReceive, seconds});
  }
}

/// Called when the way through the network, the sender's or the receiver's processors are through with it.
void Engine::part_arrived(std::uint32_t first, int step) {
  if (to_arrive_.empty() || --to_arrive_[first] == 0) arrived(first, step);
}

void Engine::add_work(Rank rank, const MessageWork& work) {
  state(rank).message_work.push_back(work);
  mark(rank);
}

void Engine::start_messages(Rank rank) {
  RankState& own = state(rank);
  const bool waits = scenario_.profile.processors == 1 && own.codec.running;
  if (!own.messages.running && !own.message_work.empty() && !waits) {
    own.messages_began = now_;
    start(own.messages, own.message_work.front().seconds * slowness_of(rank), messages_rate(rank),
          Event::Kind::kMessages, rank);
  }
  change_rate(own.messages, messages_rate(rank), Event::Kind::kMessages, rank);
}

void Engine::end_messages(Rank rank) {
  RankState& own = state(rank);
  const MessageWork work = own.message_work.front();
  own.message_work.pop_front();
  own.messages.running = false;
  own.sums.messages_s += now_ - own.messages_began;
  own.sums.processor_s += work.seconds * slowness_of(rank);
  mark(rank);
  switch (work.kind) {
    case MessageWork::Kind::kSend: return part_left(work.first);
    case MessageWork::Kind::kReceive: return part_arrived(work.first, work.step);
    case MessageWork::Kind::kAnnounced:
      return push(Event::Kind::kAnswered, now_, work.first, static_cast<std::uint32_t>(work.step), rank,
                  rank_of(work.first), distance_of(tasks_[work.first].peer_task));
    case MessageWork::Kind::kAnswered: return queue_send(work.first);
  }
}

void Engine::arrived(std::uint32_t first, int step) {
  if (!link_of(first).incast.empty()) {
    const std::uint32_t recv = tasks_[first].peer_task;
    ports_[port_of(recv)].senders.remove(tasks_[recv].peer);
  }
  if (!credit_.empty()) {
    push(Event::Kind::kCredit, now_ + link_of(first).latency_s, first, static_cast<std::uint32_t>(step),
         receiver_of(first), rank_of(first), distance_of(tasks_[first].peer_task));
  }
  for (std::uint32_t send = first; send != kNoTask;) {
    const std::uint32_t recv = tasks_[send].peer_task;
    const std::uint32_t next = fused_with_[send];
    RunState& run = runs_[tasks_[recv].run];
    if (is_side(recv)) {
      keep_span(recv, since_[recv]);
      receive(recv);
    } else if (drift_.owners == nullptr && (!run.active || run.step != step)) {
      run.early.emplace_back(recv, step);
    } else if (--waits_for_[recv] == 0) {
      keep_span(recv, since_[recv]);
      receive(recv);
    }
    if (under_way_.arrive(send)) add_send(send);
    send = next;
  }
}

/// Called when all bytes have arrived.
void Engine::receive(std::uint32_t recv) {
  if (task_s(recv) > 0) return make_ready(recv);
  complete(recv);
}

}  // namespace casync
