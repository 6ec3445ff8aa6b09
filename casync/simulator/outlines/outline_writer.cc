// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/outlines/outline_writer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

namespace casync {
namespace {

MessageWorkSeconds work(const Link& link, double bytes, double count) {
  return {count * link.send_work.at(bytes), count * link.receive_work.at(bytes)};
}

}  // namespace

OutlineWriter::OutlineWriter(const Decision& decision, Elements elements, const AlikeRanks& ranks,
                             const Profile& profile, const HopCosts& costs, double task_s)
    : profile_(profile),
      task_s_(task_s),
      shape_(decision, elements, ranks),
      costs_(costs, shape_.slice, shape_.ranks),
      messages_(profile) {
  const CodecCosts& first = costs[static_cast<std::size_t>(Hop::kFirst)];
  made_.codec = static_cast<std::uint32_t>(std::hash<std::string>{}(first.facts().name));
  made_.rounds = shape_.written;
  made_.lumps = shape_.lumps;
}

Outline OutlineWriter::finish() && {
  const double scale = shape_.rounds / made_.rounds;  // a written round may stand for several
  for (Stage& stage : made_.stages) {
    repeat(stage, stage.gathers ? scale : scale / made_.lumps);
  }
  if (task_s_ > 0) add_message_tasks();
  return std::move(made_);
}

/// Number of ports that send to one at the same time, of `ports` that could. With fewer partitions than ranks they
/// begin with the same owner. Else they begin with different ones and meet by chance: if all send all the time,
/// a message meets one other in the mean; owners answer in bursts, and the root of `ports` comes nearest to
/// the simulation of all ranks. Fewer owners than ranks each have several of them all the time.
int OutlineWriter::meeting(int ports) const {
  const double at_owner = static_cast<double>(ports) / shape_.owners;
  const double by_chance = std::max(at_owner, all_the_time_ ? std::min(ports, 2) : std::sqrt(ports));
  return static_cast<int>(std::lround(by_chance + shape_.rest() * (ports - by_chance)));
}

Stage& OutlineWriter::codec(Kind kind, double times, double seconds, double then) {
  const double task_s = times * task_s_;
  made_.stages.push_back({.kind = kind,
                          .hop = hop_,
                          .seconds = times * seconds + task_s,
                          .tasks_s = task_s,
                          .shared_s = times * std::min(seconds, costs_.shared_s(kind)),
                          .then_s = then});
  return made_.stages.back();
}

Stage& OutlineWriter::gathering(double times, double seconds, double then) {
  next_hop();
  Stage& stage = codec(Kind::kMerge, times, seconds, then);
  stage.gathers = true;
  return stage;
}

/// Adds a rank's cost of each of its messages, ahead of sending and after it: as many arrive as leave.
void OutlineWriter::add_message_tasks() {
  std::vector<Stage> stages;
  for (const Stage& stage : made_.stages) {
    if (stage.kind != Kind::kSend) {
      stages.push_back(stage);
      continue;
    }
    const double task_s = stage.messages * stage.busiest * task_s_;
    Stage tasks{.kind = Kind::kTasks, .gathers = stage.gathers, .hop = stage.hop};
    tasks.seconds = tasks.tasks_s = task_s;
    stages.insert(stages.end(), {tasks, stage, tasks});
  }
  made_.stages = std::move(stages);
}

int OutlineWriter::ports_of(bool between, int ranks) const {
  return between && profile_.node_shares_port ? (ranks + shape_.each - 1) / shape_.each : ranks;
}

Stage& OutlineWriter::send(bool between, double count, Bytes bytes, double then, int ports) {
  const double sharing = between && profile_.node_shares_port ? shape_.each : 1;
  const Link& link = messages_.link(between);
  made_.stages.push_back(
      {.kind = Kind::kSend,
       .between = between,
       .hop = hop_,
       .seconds = sharing * count * messages_.leaving(between, bytes) * link.outcast.at(ports),
       .receive_s = sharing * count * messages_.on_wire(between, bytes) * link.incast.at(meeting(ports)),
       .joins = shape_.ranks == 2 && bytes > 0,
       .message_s = link.message_s + link.wire.at(0),
       .head_s = link.message_s + link.latency_s,
       .latency_s = link.latency_s,
       .then_s = then,
       .work = work(link, static_cast<double>(bytes), count),
       .work_each = work(link, 0, 1),
       .bytes = count * static_cast<double>(bytes),
       .messages = count});
  return made_.stages.back();
}

void OutlineWriter::with_owners(Bytes bytes, bool from_owner) {
  const int inside = shape_.each - 1, outside = shape_.ranks - shape_.each;
  const auto owner_s = [&](bool between, int count) {
    const int ports = ports_of(between, count);
    const double each =
        from_owner ? messages_.leaving_to(between, bytes, ports) : messages_.arriving_from(between, bytes, ports);
    return shape_.rest() * count * (each + task_s_);
  };
  const double inside_s = owner_s(false, inside), outside_s = owner_s(true, outside);
  if (inside > 0) serve(false, inside, bytes, outside > 0 ? 0 : inside_s, from_owner);
  if (outside > 0) serve(true, outside, bytes, std::max(inside_s, outside_s), from_owner);
}

/// Messages between owners and the other ranks, as many in a round as an owner has. With fewer owners than ranks
/// each end has its own number: an owner's port is busy with those of all `peers`, another rank's with its own.
void OutlineWriter::serve(bool between, int peers, Bytes bytes, double then, bool from_owner) {
  Stage& stage = send(between, shape_.of_round * peers / shape_.owners, bytes, then, ports_of(between, peers));
  if (shape_.owners == shape_.ranks) return;
  const double owners = shape_.owners, others = shape_.ranks - 1;
  const double sent = from_owner ? 1 : (shape_.contributors - (shape_.contributors == shape_.ranks ? 1 : 0)) / others;
  const double own_port = between && profile_.node_shares_port ? std::ceil(owners / shape_.nodes) / shape_.each : 1;
  (from_owner ? stage.seconds : stage.receive_s) *= sent * own_port;
  (from_owner ? stage.work.send_s : stage.work.receive_s) *= sent;
  (from_owner ? stage.receive_s : stage.seconds) *= owners / others;
  (from_owner ? stage.work.receive_s : stage.work.send_s) *= owners / others;
  stage.bytes *= sent * owners / shape_.ranks;
  stage.messages *= sent * owners / shape_.ranks;
  stage.busiest = shape_.ranks / owners;
}

}  // namespace casync
