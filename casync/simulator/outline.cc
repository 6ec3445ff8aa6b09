// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/outline.h"

#include <algorithm>
#include <cmath>

#include "casync/patterns/tree.h"
#include "casync/strategies/strategy.h"

namespace casync {
namespace {

constexpr int kLumps = 16;  ///< of a gradient: more than that changes a step by less than the outline's own error

const CodecCosts& first(const HopCosts& costs) { return costs[static_cast<std::size_t>(Hop::kFirst)]; }
const CodecCosts& second(const HopCosts& costs) { return costs[static_cast<std::size_t>(Hop::kSecond)]; }
const CodecCosts& raw(const HopCosts& costs) { return costs[static_cast<std::size_t>(Hop::kRaw)]; }
const CodecCosts& sum(const HopCosts& costs) { return costs[static_cast<std::size_t>(Hop::kSum)]; }

/// Adds `coded` codes and, where own is set, this rank's elements, and encodes the sum.
double merge_seconds(Elements n, int coded, const CodecCosts& from, bool own, const HopCosts& costs,
                     const CodecCosts& to) {
  return CodecCosts::merge_alike(n, coded, from, own ? &sum(costs) : nullptr, to);
}

/// Writes the stages of one gradient; costs of a whole round are dealt out over its lumps at the end.
class Writer {
 public:
  Writer(const Decision& decision, Elements elements, const AlikeRanks& ranks, const Profile& profile,
         const HopCosts& costs)
      : profile_(profile),
        costs_(costs),
        ranks_(ranks.ranks),
        nodes_(ranks.nodes),
        each_(ranks_ / nodes_),
        crossing_(ranks.tree_crossing) {
    const auto wanted = static_cast<Elements>(std::max(decision.partitions, 1));
    const auto partitions = static_cast<double>(std::min(wanted, std::max<Elements>(elements, 1)));
    slice_ = static_cast<Elements>(std::llround(static_cast<double>(elements) / partitions));
    rounds_ = std::max(1.0, partitions / ranks_);
    of_round_ = partitions / rounds_;
    share_ = of_round_ / ranks_;
    made_.rounds = static_cast<int>(std::clamp(std::ceil(rounds_ - 1e-9), 1.0, kLumps / 2.0));
    made_.lumps = static_cast<int>(std::clamp(std::floor(of_round_), 1.0, static_cast<double>(kLumps) / made_.rounds));
  }

  Outline write(StrategyKind strategy, bool coded_terms) {
    switch (strategy) {
      case StrategyKind::kPs: ps(coded_terms); break;
      case StrategyKind::kRing: ring(coded_terms); break;
      case StrategyKind::kAllGather: all_gather(); break;
      case StrategyKind::kTree: tree(coded_terms); break;
      case StrategyKind::kHierarchical: hierarchical(coded_terms); break;
    }
    const double scale = rounds_ / made_.rounds;  // a written round may stand for several
    for (Stage& stage : made_.stages) {
      repeat(stage, stage.gathers ? scale : scale / made_.lumps);
    }
    if (profile_.task_s > 0) add_message_tasks();
    return std::move(made_);
  }

 private:
  using Kind = Stage::Kind;

  const Link& link(bool between) const { return between ? profile_.between : profile_.inside; }
  double on_wire(bool between, Bytes bytes) const { return link(between).wire.at(static_cast<double>(bytes)); }
  double leaving(bool between, Bytes bytes) const { return link(between).message_s + on_wire(between, bytes); }
  /// Number of ranks that send to one at the same time, of `peers` that could. With fewer partitions than ranks they
  /// begin with the same owner. Else they begin with different ones and meet by chance: if all send all the time,
  /// a message meets one other in the mean; owners answer in bursts, and the root of `peers` comes nearest to
  /// the simulation of all ranks.
  int meeting(int peers) const {
    const double by_chance = all_the_time_ ? std::min(peers, 2) : std::sqrt(peers);
    const double rest = 1 - std::min(share_, 1.0);
    return static_cast<int>(std::lround(by_chance + rest * (peers - by_chance)));
  }
  // One message, with as many peers served at once.
  double leaving_to(bool between, Bytes bytes, int peers) const {
    return leaving(between, bytes) * link(between).outcast.at(peers);
  }
  double arriving_from(bool between, Bytes bytes, int peers) const {
    return on_wire(between, bytes) * link(between).incast.at(peers);
  }

  Stage& codec(Kind kind, double times, double seconds, double then = 0) {
    const double task_s = times * profile_.task_s;
    made_.stages.push_back(
        {.kind = kind, .hop = hop_, .seconds = times * seconds + task_s, .tasks_s = task_s, .then_s = then});
    return made_.stages.back();
  }

  Stage& gathering(double times, double seconds, double then) {
    hop_ += 1;
    Stage& stage = codec(Kind::kMerge, times, seconds, then);
    stage.gathers = true;
    return stage;
  }

  /// Adds a rank's cost of each of its messages, before and after sending: as many arrive as leave.
  void add_message_tasks() {
    std::vector<Stage> stages;
    for (const Stage& stage : made_.stages) {
      if (stage.kind != Kind::kSend) {
        stages.push_back(stage);
        continue;
      }
      const double task_s = stage.messages * profile_.task_s;
      Stage tasks{.kind = Kind::kTasks, .gathers = stage.gathers, .hop = stage.hop};
      tasks.seconds = tasks.tasks_s = task_s;
      stages.insert(stages.end(), {tasks, stage, tasks});
    }
    made_.stages = std::move(stages);
  }

  static MessageWorkSeconds work(const Link& link, double bytes, double count) {
    return {count * link.send_work.at(bytes), count * link.receive_work.at(bytes)};
  }

  /// `count` messages in a round, to `peers` ranks and from as many. A node's ranks take turns at a port that they
  /// share.
  Stage& send(bool between, double count, Bytes bytes, double then, int peers) {
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

  /// Sends to owners, or from them. If a rank owns less than a partition, the owner's port is busy for longer.
  void with_owners(Bytes bytes, bool from_owner) {
    const double rest = 1 - std::min(share_, 1.0);
    const int inside = each_ - 1, outside = ranks_ - each_;
    const auto owner_s = [&](bool between, int count) {
      const double each = from_owner ? leaving_to(between, bytes, count) : arriving_from(between, bytes, count);
      return rest * count * (each + profile_.task_s);
    };
    const double inside_s = owner_s(false, inside), outside_s = owner_s(true, outside);
    if (inside > 0) send(false, of_round_ * inside / ranks_, bytes, outside > 0 ? 0 : inside_s, inside);
    if (outside > 0) send(true, of_round_ * outside / ranks_, bytes, std::max(inside_s, outside_s), outside);
  }

  void ps(bool coded_terms) {
    const double rest = 1 - std::min(share_, 1.0);
    const Bytes there = first(costs_).payload_bytes(slice_), back = second(costs_).payload_bytes(slice_);
    const double others = of_round_ * (ranks_ - 1) / ranks_;
    codec(Kind::kEncode, coded_terms ? of_round_ : others, first(costs_).encode(slice_));
    with_owners(there, false);
    const int coded = coded_terms ? ranks_ : ranks_ - 1;
    const double merge = merge_seconds(slice_, coded, first(costs_), !coded_terms, costs_, second(costs_));
    gathering(share_, merge, rest * merge);
    with_owners(back, true);
    codec(Kind::kDecode, of_round_, second(costs_).decode(slice_));
  }

  /// Steps one after the other, in at most four pieces each way. Coded terms travel side by side, more of them with
  /// each step.
  void ring(bool coded_terms) {
    const double rest = 1 - std::min(share_, 1.0);
    const bool between = nodes_ > 1;  // the slowest link of the ring sets its pace where all its links are busy
    const auto mean = [&](double inside, double outside) {
      return nodes_ > 1 ? ((each_ - 1) * inside + outside) / each_ : inside;
    };
    const auto hops = [&](Bytes bytes, double together, const auto& before, const auto& after) {
      const int pieces = std::min(ranks_ - 1, 4);
      for (int i = 0; i < pieces; ++i) {
        const double steps = static_cast<double>(ranks_ - 1) / pieces;
        before(steps);
        // Only one rank of a node has its successor elsewhere: a port that is shared is not asked for by the others.
        Stage& sent = send(between, together * steps * share_, bytes, 0, 1);
        if (between && profile_.node_shares_port) sent.seconds /= each_, sent.receive_s /= each_;
        sent.gathers = sent.joins = true;
        sent.then_s = steps * (together * rest * mean(leaving(false, bytes), leaving(true, bytes)) +
                               mean(profile_.inside.latency_s, profile_.between.latency_s)) -
                      sent.latency_s;
        after(steps);
      }
    };
    const Bytes there = first(costs_).payload_bytes(slice_), back = second(costs_).payload_bytes(slice_);
    const double merge = merge_seconds(slice_, 1, first(costs_), true, costs_, first(costs_));
    const double last = coded_terms
                            ? merge_of_codes()
                            : merge_seconds(slice_, ranks_ > 1 ? 1 : 0, first(costs_), true, costs_, second(costs_));
    const double encode = first(costs_).encode(slice_), decode = second(costs_).decode(slice_);
    if (coded_terms) {
      codec(Kind::kEncode, of_round_, encode);
    } else if (ranks_ > 1) {
      codec(Kind::kEncode, share_, encode, rest * encode).gathers = true;
    }
    double merges = -1;  // the first step sends what was encoded
    const auto merge_before = [&](double steps) {
      const double times = steps + std::min(merges, 0.0);
      merges = 0;
      if (times > 0 && !coded_terms) gathering(times * share_, merge, times * rest * merge);
    };
    hops(there, coded_terms ? ranks_ / 2.0 : 1, merge_before, [](double) {});
    gathering(share_, last, rest * last);
    const auto decode_after = [&](double steps) {
      Stage& decoded = codec(Kind::kDecode, steps * share_, decode);
      decoded.gathers = decoded.aside = true;
    };
    hop_ += 1;
    hops(
        back, 1, [](double) {}, decode_after);
    codec(Kind::kDecode, share_, decode).gathers = true;
  }

  void all_gather() {
    // As many lumps as partitions: each waits for the others' of the same only.
    const int inside = each_ - 1, outside = ranks_ - each_;
    const Bytes bytes = first(costs_).payload_bytes(slice_);
    all_the_time_ = true;
    codec(Kind::kEncode, of_round_, first(costs_).encode(slice_));
    if (inside > 0) send(false, of_round_ * inside, bytes, 0, inside);
    if (outside > 0) send(true, of_round_ * outside, bytes, 0, outside);
    hop_ += 1;
    if (first(costs_).facts().traits.votes) {
      codec(Kind::kMerge, of_round_, merge_of_codes());
      codec(Kind::kDecode, of_round_, second(costs_).decode(slice_));
      return;
    }
    codec(Kind::kMerge, of_round_, merge_seconds(slice_, ranks_, first(costs_), false, costs_, sum(costs_)));
    if (profile_.task_s > 0) codec(Kind::kDecode, of_round_, 0);  // the sum is there; what is left is a task
  }

  double merge_of_codes() const { return merge_seconds(slice_, ranks_, first(costs_), false, costs_, second(costs_)); }

  void tree(bool coded_terms) {
    const double outside = nodes_ > 1 ? crossing_ : 0, inside = ranks_ - 1 - outside;
    const int levels = tree::bits(ranks_ - 1), levels_outside = tree::bits(nodes_ - 1);
    const int levels_inside = levels - levels_outside;
    const Bytes there = first(costs_).payload_bytes(slice_), back = second(costs_).payload_bytes(slice_);
    // A rank has i children with probability 2^-(i+1); the way up passes one with 1, with 2, ... children.
    double busy = first(costs_).encode(slice_) / 2, chain = first(costs_).encode(slice_);
    if (coded_terms) busy = chain;
    for (int i = 1; i < levels && !coded_terms; ++i) {
      const double merge = merge_seconds(slice_, i, first(costs_), true, costs_, first(costs_));
      busy += merge * std::ldexp(1.0, -(i + 1));
      chain += merge;
    }
    codec(Kind::kEncode, of_round_, busy, std::max(0.0, chain - of_round_ * busy / made_.lumps));
    const auto way = [&](bool between, double messages, int steps, Bytes bytes) {
      if (messages <= 0) return;
      Stage& sent = send(between, of_round_ * messages / ranks_, bytes, 0, 1);
      sent.then_s = std::max(0, steps - 1) * sent.latency_s +
                    std::max(0.0, steps * leaving(between, bytes) - sent.seconds / made_.lumps);
    };
    // Side by side a rank sends the codes of all that hang from it.
    const double together = coded_terms ? tree::mean_size(ranks_) : 1;
    way(false, together * inside, levels_inside, there);
    way(true, together * outside, levels_outside, there);
    const double last =
        coded_terms ? merge_of_codes() : merge_seconds(slice_, levels, first(costs_), true, costs_, second(costs_));
    hop_ += 1;
    codec(Kind::kMerge, share_, last, last * (1 - std::min(share_, 1.0)));
    way(true, outside, levels_outside, back);
    way(false, inside, levels_inside, back);
    codec(Kind::kDecode, of_round_, second(costs_).decode(slice_));
  }

  void hierarchical(bool coded_terms) {
    const Bytes elements = (coded_terms ? first(costs_) : raw(costs_)).payload_bytes(slice_);
    const Bytes there = first(costs_).payload_bytes(slice_), back = second(costs_).payload_bytes(slice_);
    const double of_delegate = of_round_ / each_;  // partitions that a rank is its node's delegate for
    const double delegate_rest = 1 - std::min(of_delegate, 1.0), rest = 1 - std::min(share_, 1.0);
    const int others = each_ - 1, other_nodes = nodes_ - 1;
    const int at_port = other_nodes * (profile_.node_shares_port ? each_ : 1);
    if (coded_terms) codec(Kind::kEncode, of_round_, first(costs_).encode(slice_));
    if (others > 0) {
      send(false, of_delegate * others, elements, delegate_rest * others * arriving_from(false, elements, others),
           others);
    }
    const double together = coded_terms ? each_ : 1;
    if (nodes_ > 1) {
      if (coded_terms) {
        hop_ += 1;
      } else if (others > 0) {
        const double merge = merge_seconds(slice_, others, raw(costs_), true, costs_, first(costs_));
        gathering(of_delegate, merge, delegate_rest * merge);
      } else {
        codec(Kind::kEncode, of_round_ * other_nodes / nodes_, first(costs_).encode(slice_));
      }
      send(true, together * of_delegate * other_nodes / nodes_, there,
           together * rest * other_nodes * arriving_from(true, there, at_port), at_port);
      const double merge = coded_terms
                               ? merge_of_codes()
                               : merge_seconds(slice_, other_nodes, first(costs_), true, costs_, second(costs_));
      gathering(share_, merge, rest * merge);
      send(true, share_ * other_nodes, back, rest * other_nodes * leaving_to(true, back, at_port), at_port);
    } else {
      const double merge =
          coded_terms ? merge_of_codes() : merge_seconds(slice_, others, raw(costs_), true, costs_, second(costs_));
      gathering(of_delegate, merge, delegate_rest * merge);
    }
    if (others > 0) {
      send(false, of_delegate * others, back, delegate_rest * others * leaving_to(false, back, others), others);
    }
    codec(Kind::kDecode, of_round_, second(costs_).decode(slice_));
  }

  const Profile& profile_;
  const HopCosts& costs_;
  int ranks_, nodes_, each_;
  double crossing_;
  Elements slice_ = 0;
  double rounds_ = 1, of_round_ = 1;  ///< rounds, and partitions in each
  double share_ = 1;                  ///< of a round's partitions, how many a rank owns
  bool all_the_time_ = false;         ///< ranks send, without waiting for each other
  std::uint32_t hop_ = 0;
  Outline made_;
};

}  // namespace

void repeat(Stage& stage, double times) {
  for (double* busy : {&stage.seconds, &stage.tasks_s, &stage.receive_s, &stage.work.send_s, &stage.work.receive_s,
                       &stage.bytes, &stage.messages}) {
    *busy *= times;
  }
  stage.message_s = std::min(stage.message_s, stage.seconds);
  stage.work_each.send_s = std::min(stage.work_each.send_s, stage.work.send_s);
  stage.work_each.receive_s = std::min(stage.work_each.receive_s, stage.work.receive_s);
}

double Outline::codec_s() const {
  double seconds = 0;
  for (const Stage& stage : stages) {
    if (stage.kind != Stage::Kind::kSend) seconds += stage.seconds * rounds * (stage.gathers ? 1 : lumps);
  }
  return seconds;
}

double Outline::port_s(bool between) const {
  double seconds = 0;
  for (const Stage& stage : stages) {
    if (stage.kind != Stage::Kind::kSend || stage.between != between) continue;
    seconds += stage.seconds * rounds * (stage.gathers ? 1 : lumps);
  }
  return seconds;
}

double Outline::messages_s() const {
  double seconds = 0;
  for (const Stage& stage : stages) {
    seconds += (stage.work.send_s + stage.work.receive_s) * rounds * (stage.gathers ? 1 : lumps);
  }
  return seconds;
}

double Outline::alone_s() const {
  double seconds = 0, longest = 0;
  for (const Stage& stage : stages) {
    const double all = stage.seconds * rounds * (stage.gathers ? 1 : lumps);
    seconds += stage.seconds + stage.latency_s + stage.then_s;
    longest = std::max(longest, all - stage.seconds);
  }
  return seconds + longest;
}

bool alike(const Topology& topology) {
  if (topology.node_of.empty()) return true;
  std::vector<int> sizes(static_cast<std::size_t>(topology.nodes()));
  for (const int node : topology.node_of) ++sizes[static_cast<std::size_t>(node)];
  return std::equal(sizes.begin() + 1, sizes.end(), sizes.begin());
}

AlikeRanks alike_ranks(const Topology& topology) {
  AlikeRanks made{topology.ranks, topology.nodes(), 0};
  if (made.nodes < 1 || made.ranks < 1) return made;
  const int each = made.ranks / made.nodes;
  // Nodes of which every rank roots as many trees still have ranks that stand between their node and others more often.
  std::vector<double> out(static_cast<std::size_t>(each)), in(out);
  for (Rank root = 0; made.nodes > 1 && root < each; ++root) {
    for (int place = 1; place < made.ranks; ++place) {
      const Rank child = tree::at(place, root, made.ranks), parent = tree::at(tree::parent(place), root, made.ranks);
      if (child / each == parent / each) continue;
      made.tree_crossing = std::max({made.tree_crossing, out[static_cast<std::size_t>(child % each)] += 1,
                                     in[static_cast<std::size_t>(parent % each)] += 1});
    }
  }
  return made;
}

Outline outline(const Decision& decision, Elements elements, const AlikeRanks& ranks, const Profile& profile,
                const HopCosts& costs) {
  if (elements == 0) return {};
  return Writer(decision, elements, ranks, profile, costs)
      .write(decision.strategy, first(costs).facts().traits.coded_terms);
}

Result<HopCosts> hop_costs(const Decision& decision, DType dtype, const Profile& profile,
                           const CodecFactsOf& facts_of) {
  Result<CodecFacts> first = facts_of(decision.codec);
  if (!first) return first.status();
  Result<CodecFacts> second = facts_of(decision.second_hop);
  if (!second) return second.status();
  const auto traits_of = [&](const CodecChoice&) -> Result<CodecTraits> { return first->traits; };
  const Result<TaskGraph> carried = make_graph(decision, 0, Topology::flat(1), 0, 0, traits_of);
  if (!carried) return carried.status();
  // Elements as they are, and sums, are only ever moved. A merge reads what is not encoded as float32, too.
  const CodecFacts raw{"", {.bits_per_element = 8.0 * static_cast<double>(bytes_of(dtype))}, true, 0};
  CodecFacts sum{"", {}, true, 0};
  sum.own = true;
  return HopCosts{CodecCosts(std::move(*first), profile), CodecCosts(std::move(*second), profile),
                  CodecCosts(raw, profile), CodecCosts(sum, profile)};
}

}  // namespace casync
