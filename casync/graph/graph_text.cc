// SPDX-License-Identifier: Apache-2.0
#include "casync/graph/graph_text.h"

#include <map>
#include <tuple>

#include "casync/graph/access.h"

namespace casync {
namespace {

using std::to_string;

std::string text_of(BufferId id) { return "b" + to_string(TaskGraph::index(id)); }
std::string text_of(TaskId id) { return "t" + to_string(TaskGraph::index(id)); }
std::string_view text_of(Hop hop) {
  constexpr std::string_view kNames[] = {"first hop", "second hop", "raw", "a sum"};
  return kNames[static_cast<std::size_t>(hop)];
}
std::string text_of(const MessageId& id) { return to_string(id.partition) + "." + to_string(id.hop); }

std::string text_of(const Merge& merge) {
  std::string out = "merge";
  for (const std::optional<BufferId>& part : merge.contributions) {
    out += part ? " " + text_of(*part) : " own " + text_of(merge.local);
    out += " +";
  }
  out.resize(out.size() - 2);
  return out + " into " + text_of(merge.to) + (merge.last ? ", the last" : "");
}

std::vector<std::vector<TaskId>> predecessors_of(const TaskGraph& graph) {
  std::vector<std::vector<TaskId>> before(graph.tasks().size());
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    for (TaskId next : graph.successors(TaskId(t))) before[TaskGraph::index(next)].push_back(TaskId(t));
  }
  return before;
}

using MessageKey = std::tuple<Rank, Rank, MessageId>;  // from, to, id

std::string node(std::size_t rank, std::size_t task) { return "r" + to_string(rank) + "t" + to_string(task); }

std::string cluster_dot(const TaskGraph& graph, std::size_t rank) {
  std::string out = "  subgraph cluster_" + to_string(rank) + " {\n    label=\"rank " + to_string(rank) + "\";\n";
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    out += "    " + node(rank, t) + " [label=\"" + task_text(graph, TaskId(t)) + "\"];\n";
  }
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    for (TaskId next : graph.successors(TaskId(t))) {
      out += "    " + node(rank, t) + " -> " + node(rank, TaskGraph::index(next)) + ";\n";
    }
  }
  return out + "  }\n";
}

}  // namespace

std::string text_of(const Slice& slice) {
  return "[" + to_string(slice.first) + ", " + to_string(slice.first + slice.count) + ")";
}

std::string task_text(const TaskGraph& graph, TaskId task) {
  return std::visit(Match{[](const Encode& t) { return "encode " + text_of(t.from) + " into " + text_of(t.to); },
                          [](const Decode& t) { return "decode " + text_of(t.from) + " to " + text_of(t.to); },
                          [](const Merge& t) { return text_of(t); },
                          [](const Send& t) {
                            return "send " + text_of(t.from) + " to rank " + to_string(t.to) + " as " + text_of(t.id);
                          },
                          [](const Recv& t) {
                            return "recv " + text_of(t.id) + " from rank " + to_string(t.from) + " into " +
                                   text_of(t.to);
                          }},
                    graph.tasks()[TaskGraph::index(task)]);
}

std::string graph_text(const TaskGraph& graph) {
  std::string out;
  for (std::size_t b = 0; b < graph.buffers().size(); ++b) {
    const Buffer& buffer = graph.buffers()[b];
    out += text_of(BufferId(b)) + ": partition " + to_string(buffer.partition) + " " + text_of(buffer.slice) + ", ";
    out += text_of(buffer.hop);
    out += "\n";
  }
  const auto before = predecessors_of(graph);
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    out += text_of(TaskId(t)) + ": " + task_text(graph, TaskId(t));
    if (!before[t].empty()) out += "; after";
    for (TaskId first : before[t]) out += " " + text_of(first);
    out += "\n";
  }
  return out;
}

std::string graphs_dot(std::span<const TaskGraph> ranks) {
  std::string out = "digraph step {\n  rankdir=LR;\n  node [shape=box];\n";
  std::map<MessageKey, std::string> receivers;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    out += cluster_dot(ranks[r], r);
    for (std::size_t t = 0; t < ranks[r].tasks().size(); ++t) {
      const auto* recv = std::get_if<Recv>(&ranks[r].tasks()[t]);
      if (recv) receivers[{recv->from, static_cast<Rank>(r), recv->id}] = node(r, t);
    }
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (std::size_t t = 0; t < ranks[r].tasks().size(); ++t) {
      const auto* send = std::get_if<Send>(&ranks[r].tasks()[t]);
      if (!send) continue;
      const auto found = receivers.find({static_cast<Rank>(r), send->to, send->id});
      if (found != receivers.end()) out += "  " + node(r, t) + " -> " + found->second + " [style=dashed];\n";
    }
  }
  return out + "}\n";
}

}  // namespace casync
