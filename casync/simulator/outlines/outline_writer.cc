// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/outlines/outline_writer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

namespace casync {
namespace {

constexpr int kLumps = 16;  ///< of a gradient: more than that changes a step by less than the outline's own error

MessageWorkSeconds work(const Link& link, double bytes, double count) {
  return {count * link.send_work.at(bytes), count * link.receive_work.at(bytes)};
}

}  // namespace

OutlineWriter::OutlineWriter(const Decision& decision, Elements elements, const AlikeRanks& ranks,
                             const Profile& profile, const HopCosts& costs, double task_s)
    : profile_(profile),
      costs_(costs),
      task_s_(task_s),
      ranks_(ranks.ranks),
      nodes_(ranks.nodes),
      each_(ranks_ / nodes_),
      owners_(owner_count(decision.servers, ranks_)),
      contributors_(decision.servers.dedicated ? ranks_ - owners_ : ranks_),
      crossing_(ranks.tree_crossing),
      double_crossing_(ranks.double_tree_crossing) {
  const auto wanted = static_cast<Elements>(std::max(decision.partitions, 1));
  const auto partitions = static_cast<double>(std::min(wanted, std::max<Elements>(elements, 1)));
  slice_ = static_cast<Elements>(std::llround(static_cast<double>(elements) / partitions));
  rounds_ = std::max(1.0, partitions / owners_);
  of_round_ = partitions / rounds_;
  share_ = of_round_ / owners_;
  made_.codec = static_cast<std::uint32_t>(std::hash<std::string>{}(cost(Hop::kFirst).facts().name));
  made_.rounds = static_cast<int>(std::clamp(std::ceil(rounds_ - 1e-9), 1.0, kLumps / 2.0));
  made_.lumps = static_cast<int>(std::clamp(std::floor(of_round_), 1.0, static_cast<double>(kLumps) / made_.rounds));
}

Outline OutlineWriter::finish() && {
  const double scale = rounds_ / made_.rounds;  // a written round may stand for several
  for (Stage& stage : made_.stages) {
    repeat(stage, stage.gathers ? scale : scale / made_.lumps);
  }
  if (task_s_ > 0) add_message_tasks();
  return std::move(made_);
}

double OutlineWriter::rest_of(double share) { return 1 - std::min(share, 1.0); }

double OutlineWriter::merge_s(int coded, Hop from, bool own, Hop to) const {
  const double copies = coded * cost(from).upload(slice_) + cost(to).download(slice_);
  return copies + CodecCosts::merge_alike(slice_, coded, cost(from), own ? &cost(Hop::kSum) : nullptr, cost(to));
}

/// Number of ranks that send to one at the same time, of `peers` that could. With fewer partitions than ranks they
/// begin with the same owner. Else they begin with different ones and meet by chance: if all send all the time,
/// a message meets one other in the mean; owners answer in bursts, and the root of `peers` comes nearest to
/// the simulation of all ranks. Fewer owners than ranks each have several of them all the time.
int OutlineWriter::meeting(int peers) const {
  const double at_owner = static_cast<double>(peers) / owners_;
  const double by_chance = std::max(at_owner, all_the_time_ ? std::min(peers, 2) : std::sqrt(peers));
  return static_cast<int>(std::lround(by_chance + rest() * (peers - by_chance)));
}

double OutlineWriter::leaving_to(bool between, Bytes bytes, int peers) const {
  return leaving(between, bytes) * link(between).outcast.at(peers);
}

double OutlineWriter::arriving_from(bool between, Bytes bytes, int peers) const {
  return on_wire(between, bytes) * link(between).incast.at(peers);
}

Stage& OutlineWriter::codec(Kind kind, double times, double seconds, double then) {
  const double task_s = times * task_s_;
  made_.stages.push_back({.kind = kind,
                          .hop = hop_,
                          .seconds = times * seconds + task_s,
                          .tasks_s = task_s,
                          .shared_s = times * std::min(seconds, shared_s(kind)),
                          .then_s = then});
  return made_.stages.back();
}

/// The seconds of a task without elements, which those in a batch share.
double OutlineWriter::shared_s(Kind kind) const {
  const CodecCosts& first = cost(Hop::kFirst);
  if (!first.on_device()) return 0;
  switch (kind) {
    case Kind::kEncode: return first.encode(0);
    case Kind::kMerge: return CodecCosts::merge_alike(0, 1, first, nullptr, cost(Hop::kSecond));
    default: return cost(Hop::kSecond).decode(0);
  }
}

Stage& OutlineWriter::gathering(double times, double seconds, double then) {
  next_hop();
  Stage& stage = codec(Kind::kMerge, times, seconds, then);
  stage.gathers = true;
  return stage;
}

/// Adds a rank's cost of each of its messages, before and after sending: as many arrive as leave.
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

Stage& OutlineWriter::send(bool between, double count, Bytes bytes, double then, int peers) {
  const double sharing = between && profile_.node_shares_port ? each_ : 1;
  const Link& link = this->link(between);
  made_.stages.push_back({.kind = Kind::kSend,
                          .between = between,
                          .hop = hop_,
                          .seconds = sharing * count * leaving(between, bytes) * link.outcast.at(peers),
                          .receive_s = sharing * count * on_wire(between, bytes) * link.incast.at(meeting(peers)),
                          .joins = ranks_ == 2 && bytes > 0,
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
  const int inside = each_ - 1, outside = ranks_ - each_;
  const auto owner_s = [&](bool between, int count) {
    const double each = from_owner ? leaving_to(between, bytes, count) : arriving_from(between, bytes, count);
    return rest() * count * (each + task_s_);
  };
  const double inside_s = owner_s(false, inside), outside_s = owner_s(true, outside);
  if (inside > 0) serve(false, inside, bytes, outside > 0 ? 0 : inside_s, from_owner);
  if (outside > 0) serve(true, outside, bytes, std::max(inside_s, outside_s), from_owner);
}

/// Messages between owners and the ranks beside them, as many in a round as an owner has. With fewer owners than ranks
/// each end has its own number: an owner's port is busy with those of all `peers`, another rank's with its own.
void OutlineWriter::serve(bool between, int peers, Bytes bytes, double then, bool from_owner) {
  Stage& stage = send(between, of_round_ * peers / owners_, bytes, then, peers);
  if (owners_ == ranks_) return;
  const double owners = owners_, others = ranks_ - 1;
  const double sent = from_owner ? 1 : (contributors_ - (contributors_ == ranks_ ? 1 : 0)) / others;
  const double own_port = between && profile_.node_shares_port ? std::ceil(owners / nodes_) / each_ : 1;
  (from_owner ? stage.seconds : stage.receive_s) *= sent * own_port;
  (from_owner ? stage.work.send_s : stage.work.receive_s) *= sent;
  (from_owner ? stage.receive_s : stage.seconds) *= owners / others;
  (from_owner ? stage.work.receive_s : stage.work.send_s) *= owners / others;
  stage.bytes *= sent * owners / ranks_;
  stage.messages *= sent * owners / ranks_;
  stage.busiest = ranks_ / owners;
}

}  // namespace casync
