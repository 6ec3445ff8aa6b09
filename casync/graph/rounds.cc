// SPDX-License-Identifier: Apache-2.0
#include "casync/graph/rounds.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "casync/graph/access.h"
#include "casync/graph/graph_text.h"

namespace casync {
namespace {

/// The hop of a message; nothing: the task is none.
std::optional<std::uint32_t> hop_of(const Primitive& task) {
  if (const auto* send = std::get_if<Send>(&task)) return send->id.hop;
  if (const auto* recv = std::get_if<Recv>(&task)) return recv->id.hop;
  return std::nullopt;
}

/// Predecessors ahead of successors. Tasks that no order reaches are left out, which validate() reports.
std::vector<TaskId> in_order(const TaskGraph& graph) {
  const std::size_t tasks = graph.tasks().size();
  std::vector<int> waits(tasks);
  std::vector<TaskId> order;
  order.reserve(tasks);
  for (std::size_t t = 0; t < tasks; ++t) {
    waits[t] = graph.predecessors(TaskId(t));
    if (waits[t] == 0) order.push_back(TaskId(t));
  }
  for (std::size_t at = 0; at < order.size(); ++at) {
    for (const TaskId next : graph.successors(order[at])) {
      if (--waits[TaskGraph::index(next)] == 0) order.push_back(next);
    }
  }
  return order;
}

/// Adds one gradient's tasks to the rounds of its bucket.
class Placer {
 public:
  Placer(const TaskGraph& graph, std::uint32_t gradient, std::map<std::uint32_t, Round>& rounds)
      : graph_(graph), gradient_(gradient), rounds_(rounds), earliest_(graph.tasks().size()) {}

  Status place() {
    const std::vector<TaskId> order = in_order(graph_);
    if (order.size() != graph_.tasks().size()) return wrong("its tasks have no order");
    for (const TaskId task : order) CASYNC_RETURN_IF_ERROR(place(task));
    return Status::ok();
  }

 private:
  Status place(TaskId task) {
    const Primitive& primitive = graph_.tasks()[TaskGraph::index(task)];
    const std::optional<std::uint32_t> hop = hop_of(primitive);
    const std::uint32_t earliest = earliest_[TaskGraph::index(task)];
    if (hop && *hop < earliest) {
      return wrong(task_text(graph_, task) + ": it needs what ends in round " + std::to_string(earliest - 1));
    }
    const std::uint32_t round = hop.value_or(earliest);
    for (const TaskId next : graph_.successors(task)) {
      std::uint32_t& at = earliest_[TaskGraph::index(next)];
      at = std::max(at, hop ? round + 1 : round);
    }
    Round& to = rounds_[round];
    std::vector<RoundTask>& list = !hop ? to.tasks : std::holds_alternative<Send>(primitive) ? to.sends : to.recvs;
    list.push_back({gradient_, task});
    return Status::ok();
  }

  Status wrong(const std::string& what) const {
    return internal_error("gradient " + std::to_string(gradient_) + " of the rounds: " + what);
  }

  const TaskGraph& graph_;
  const std::uint32_t gradient_;
  std::map<std::uint32_t, Round>& rounds_;
  std::vector<std::uint32_t> earliest_;  ///< per task, by what was placed ahead of it
};

template <class Message>
void sort_messages(std::span<const RoundGradient> gradients, std::vector<RoundTask>& messages) {
  const auto key = [&](const RoundTask& one) {
    const auto& message = std::get<Message>(gradients[one.gradient].graph->tasks()[TaskGraph::index(one.task)]);
    if constexpr (std::is_same_v<Message, Send>) return std::tuple(message.to, one.gradient, message.id);
    if constexpr (std::is_same_v<Message, Recv>) return std::tuple(message.from, one.gradient, message.id);
  };
  std::sort(messages.begin(), messages.end(), [&](const RoundTask& a, const RoundTask& b) { return key(a) < key(b); });
}

Result<std::vector<Round>> rounds_of(std::span<const RoundGradient> gradients, const Bucket& bucket) {
  std::map<std::uint32_t, Round> rounds;
  for (std::uint32_t g = bucket.first_gradient; g < bucket.first_gradient + bucket.gradients; ++g) {
    if (gradients[g].all_reduced) {
      rounds[0].all_reduced.push_back(g);
    } else {
      CASYNC_RETURN_IF_ERROR(Placer(*gradients[g].graph, g, rounds).place());
    }
  }
  std::vector<Round> all;
  for (auto& [hop, round] : rounds) {
    round.hop = hop;
    sort_messages<Send>(gradients, round.sends);
    sort_messages<Recv>(gradients, round.recvs);
    all.push_back(std::move(round));
  }
  return all;
}

}  // namespace

Result<std::vector<Bucket>> make_rounds(std::span<const RoundGradient> gradients, Bytes bucket_bytes) {
  std::vector<Bucket> buckets;
  Bytes bytes = 0;
  for (std::uint32_t g = 0; g < gradients.size(); ++g) {
    if (buckets.empty() || bytes >= bucket_bytes) {
      buckets.push_back({g, 0, {}});
      bytes = 0;
    }
    ++buckets.back().gradients;
    bytes += gradients[g].bytes;
  }
  for (Bucket& bucket : buckets) {
    Result<std::vector<Round>> rounds = rounds_of(gradients, bucket);
    if (!rounds) return rounds.status();
    bucket.rounds = std::move(*rounds);
  }
  return buckets;
}

}  // namespace casync
