// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/flat_tasks.h"

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>

#include "casync/graph/access.h"
#include "casync/graph/hops.h"

namespace casync {
namespace {

/// Computes the cost of a task, for std::visit.
struct Price {
  const TaskGraph& graph;
  const HopCosts& costs;
  FlatTask& flat;

  const Buffer& buffer(BufferId id) const { return graph.buffers()[TaskGraph::index(id)]; }
  const CodecCosts& codec(BufferId id) const { return costs[static_cast<std::size_t>(buffer(id).hop)]; }

  /// A code that is the gradient's own memory takes nothing but its copies.
  TaskVerb unless_instant(const CodecCosts& used, TaskVerb verb) const {
    const bool copies = flat.upload_s > 0 || flat.download_s > 0;
    return used.facts().identity && !copies ? TaskVerb::kInstant : verb;
  }

  /// `together_s`: the seconds of no elements.
  void share(const CodecCosts& used, double together_s) const {
    if (!used.on_device()) return;
    flat.shared_s = static_cast<float>(std::min(together_s, flat.seconds));
    flat.codec = static_cast<std::uint32_t>(std::hash<std::string>{}(used.facts().name));
  }

  void operator()(const Encode& task) {
    flat.seconds = codec(task.to).encode(task.from.count);
    share(codec(task.to), codec(task.to).encode(0));
    flat.download_s = static_cast<float>(codec(task.to).download(task.from.count));
    flat.verb = unless_instant(codec(task.to), TaskVerb::kEncode);
  }
  void operator()(const Decode& task) {
    flat.seconds = codec(task.from).decode(task.to.count);
    share(codec(task.from), codec(task.from).decode(0));
    flat.upload_s = static_cast<float>(codec(task.from).upload(task.to.count));
    flat.verb = unless_instant(codec(task.from), TaskVerb::kDecode);
  }
  void operator()(const Merge& task) {
    const Elements n = buffer(task.to).slice.count;
    if (n == 0) {  // an answer, which says that the sums are there
      flat.verb = TaskVerb::kInstant;
      return;
    }
    std::vector<const CodecCosts*> contributions;
    for (const std::optional<BufferId>& part : task.contributions) {
      contributions.push_back(part ? &codec(*part) : &costs[static_cast<std::size_t>(Hop::kSum)]);
      if (part) flat.upload_s += static_cast<float>(codec(*part).upload(n));
    }
    flat.seconds = CodecCosts::merge(n, contributions, codec(task.to));
    share(codec(task.to), CodecCosts::merge(0, contributions, codec(task.to)));
    flat.download_s = static_cast<float>(codec(task.to).download(n));
    flat.verb = TaskVerb::kMerge;
  }
  void operator()(const Send& task) {
    flat.bytes = codec(task.from).payload_bytes(buffer(task.from).slice.count);
    flat.partition = task.id.partition;
    flat.message_hop = task.id.hop;
    flat.peer = task.to;
    flat.verb = TaskVerb::kSend;
  }
  void operator()(const Recv& task) {
    flat.bytes = codec(task.to).payload_bytes(buffer(task.to).slice.count);
    flat.partition = task.id.partition;
    flat.message_hop = task.id.hop;
    flat.peer = task.from;
    flat.verb = TaskVerb::kRecv;
  }
};

}  // namespace

struct FlatTasks::Ends {
  /// One end of a message, sorted by the message's identity.
  struct End {
    Rank from = 0, to = 0;
    MessageId id;
    std::uint32_t task = 0;

    auto name() const { return std::tie(from, to, id); }
  };
  std::vector<End> sends, recvs;
};

std::vector<FlatTasks::Range>& FlatTasks::ranges_at(std::uint32_t gradient) {
  if (ranges_.size() <= gradient) ranges_.resize(gradient + 1);
  return ranges_[gradient];
}

void FlatTasks::add_ranks(std::span<const TaskGraph> graphs, std::uint32_t gradient, std::uint32_t gradients,
                          const HopCosts& costs) {
  std::vector<Range>& ranges = ranges_at(gradient);
  for (std::size_t rank = 0; rank < graphs.size(); ++rank) {
    const auto begin = static_cast<std::uint32_t>(tasks_.size());
    add_rank(graphs[rank], static_cast<std::uint32_t>(rank) * gradients + gradient, costs, {});
    ranges.push_back({begin, static_cast<std::uint32_t>(tasks_.size())});
  }
}

Status FlatTasks::add(std::span<const TaskGraph> graphs, StrategyKind strategy, std::uint32_t gradient,
                      std::uint32_t gradients, const HopCosts& costs) {
  add_ranks(graphs, gradient, gradients, costs);
  return connect(graphs, strategy, ranges_[gradient]);
}

Status FlatTasks::add_asynchronous(std::span<const TaskGraph> own, std::span<const TaskGraph> owners,
                                   std::uint32_t gradient, std::uint32_t side, std::uint32_t gradients,
                                   const HopCosts& costs) {
  add_ranks(own, gradient, gradients, costs);
  add_ranks(owners, side, gradients, costs);
  Ends ends;
  add_ends(own, StrategyKind::kPs, ranges_[gradient], ends);
  add_ends(owners, StrategyKind::kPs, ranges_[side], ends);
  return connect(std::move(ends));
}

std::uint32_t FlatTasks::add_batch(std::uint32_t run, std::uint32_t partition) {
  FlatTask batch;
  batch.run = run;
  batch.hop = 1;
  batch.partition = partition;
  batch.verb = TaskVerb::kMerge;
  batch.waits_for = 1;
  batch.first_successor = static_cast<std::uint32_t>(successors_.size());
  tasks_.push_back(batch);
  return static_cast<std::uint32_t>(tasks_.size()) - 1;
}

Status FlatTasks::add_rounds(std::span<const std::vector<TaskGraph>> exchanges, StrategyKind strategy,
                             std::span<const double> turn_s, std::uint32_t gradient, std::uint32_t gradients,
                             std::span<const HopCosts> costs) {
  const std::size_t last = exchanges.size(), ranks = exchanges.front().size();
  std::vector<std::vector<Range>> of_exchange(last);
  std::vector<Range>& ranges = ranges_at(gradient);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto run = static_cast<std::uint32_t>(rank) * gradients + gradient;
    const auto begin = static_cast<std::uint32_t>(tasks_.size());
    FlatTask turn;
    turn.run = run;
    for (std::size_t k = 0; k <= last; ++k) {
      turn.verb = k == 0 ? TaskVerb::kEncode : k == last ? TaskVerb::kDecode : TaskVerb::kMerge;
      turn.seconds = turn_s[k];
      add_turn(turn, k == last ? nullptr : &exchanges[k][rank]);
      if (k == last) break;
      const auto first = static_cast<std::uint32_t>(tasks_.size());
      const TaskGraph& graph = exchanges[k][rank];
      add_rank(graph, run, costs[k], {turn.hop, true});
      of_exchange[k].push_back({first, static_cast<std::uint32_t>(tasks_.size())});
      turn.waits_for = graph.tasks().empty() ? 1 : 0;
      for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
        turn.waits_for += graph.successors(TaskId(t)).empty() ? 1 : 0;
        turn.hop = std::max(turn.hop, tasks_[first + t].hop + 1);
      }
    }
    ranges.push_back({begin, static_cast<std::uint32_t>(tasks_.size())});
  }
  for (std::size_t k = 0; k < last; ++k) CASYNC_RETURN_IF_ERROR(connect(exchanges[k], strategy, of_exchange[k]));
  return Status::ok();
}

/// Adds a turn. Its successors: all tasks of `next` that wait for no other; if there are none, the turn after it.
void FlatTasks::add_turn(FlatTask turn, const TaskGraph* next) {
  const auto behind = static_cast<std::uint32_t>(tasks_.size()) + 1;
  turn.first_successor = static_cast<std::uint32_t>(successors_.size());
  tasks_.push_back(turn);
  if (next == nullptr) return;
  if (next->tasks().empty()) successors_.push_back(behind);
  for (std::size_t t = 0; t < next->tasks().size(); ++t) {
    if (next->predecessors(TaskId(t)) == 0) successors_.push_back(behind + static_cast<std::uint32_t>(t));
  }
}

void FlatTasks::add_rank(const TaskGraph& graph, std::uint32_t run, const HopCosts& costs, Chain chain) {
  const auto begin = static_cast<std::uint32_t>(tasks_.size());
  const std::vector<std::uint32_t> hops = hops_of_tasks(graph);
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    const Primitive& task = graph.tasks()[t];
    FlatTask flat;
    flat.run = run;
    flat.hop = chain.hop + hops[t];
    if (const auto to = written_buffer(task)) flat.partition = graph.buffers()[TaskGraph::index(*to)].partition;
    for_each_read(task, [&](BufferId id) { flat.partition = graph.buffers()[TaskGraph::index(id)].partition; });
    flat.first_successor = static_cast<std::uint32_t>(successors_.size());
    for (const TaskId next : graph.successors(TaskId(t))) {
      successors_.push_back(begin + static_cast<std::uint32_t>(next));
    }
    if (chain.is_chained && graph.successors(TaskId(t)).empty()) {
      successors_.push_back(begin + static_cast<std::uint32_t>(graph.tasks().size()));
    }
    // A recv waits for its message, too.
    flat.waits_for = graph.predecessors(TaskId(t)) + (std::holds_alternative<Recv>(task) ? 1 : 0);
    if (chain.is_chained && graph.predecessors(TaskId(t)) == 0) ++flat.waits_for;
    std::visit(Price{graph, costs, flat}, task);
    tasks_.push_back(flat);
  }
}

std::span<const std::uint32_t> FlatTasks::successors(std::uint32_t task) const {
  const std::size_t begin = tasks_[task].first_successor;
  const std::size_t end = task + 1 < tasks_.size() ? tasks_[task + 1].first_successor : successors_.size();
  return std::span(successors_).subspan(begin, end - begin);
}

/// A message to a rank that another stands for ends as the same message to that one. A rank's answer to itself is no
/// message.
void FlatTasks::add_ends(std::span<const TaskGraph> graphs, StrategyKind strategy, std::span<const Range> ranges,
                         Ends& ends) const {
  for (std::size_t r = 0; r < graphs.size(); ++r) {
    const auto self = static_cast<Rank>(r);
    for (std::size_t t = 0; t < graphs[r].tasks().size(); ++t) {
      const auto flat = ranges[r].begin + static_cast<std::uint32_t>(t);
      const Primitive& task = graphs[r].tasks()[t];
      if (const auto* send = std::get_if<Send>(&task)) {
        MessageId id = send->id;
        id.partition = symmetry_.partition_moved_with(send->to, id.partition, strategy);
        ends.sends.push_back({symmetry_.moved_with(send->to, self), symmetry_.representative(send->to), id, flat});
      }
      const auto* recv = std::get_if<Recv>(&task);
      if (recv != nullptr && recv->from != self) ends.recvs.push_back({recv->from, self, recv->id, flat});
    }
  }
}

Status FlatTasks::connect(std::span<const TaskGraph> graphs, StrategyKind strategy, std::span<const Range> ranges) {
  Ends ends;
  add_ends(graphs, strategy, ranges, ends);
  return connect(std::move(ends));
}

Status FlatTasks::connect(Ends ends) {
  std::vector<Ends::End>&sends = ends.sends, &recvs = ends.recvs;
  const auto by_name = [](const Ends::End& a, const Ends::End& b) { return a.name() < b.name(); };
  std::sort(sends.begin(), sends.end(), by_name);
  std::sort(recvs.begin(), recvs.end(), by_name);
  for (std::size_t i = 0; i < std::max(sends.size(), recvs.size()); ++i) {
    if (i < sends.size() && i < recvs.size() && sends[i].name() == recvs[i].name()) {
      tasks_[sends[i].task].peer_task = recvs[i].task;
      tasks_[recvs[i].task].peer_task = sends[i].task;
      continue;
    }
    const Ends::End& odd = i >= recvs.size() || (i < sends.size() && by_name(sends[i], recvs[i])) ? sends[i] : recvs[i];
    return internal_error("the message from rank " + std::to_string(odd.from) + " to rank " + std::to_string(odd.to) +
                          ", partition " + std::to_string(odd.id.partition) + ", hop " + std::to_string(odd.id.hop) +
                          ", has only one end");
  }
  return Status::ok();
}

}  // namespace casync
