// SPDX-License-Identifier: Apache-2.0
#include "tests/support/round_interpreter.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "casync/graph/access.h"
#include "casync/graph/graph_text.h"

namespace casync::test {
namespace {

/// One gradient on one rank.
struct Place {
  const TaskGraph* graph = nullptr;
  Meaning* meaning = nullptr;
  Rank rank = 0;
  std::vector<std::optional<Code>> buffers;
  std::vector<int> waits;  ///< per task: predecessors that have not run; kRan afterwards
};

constexpr int kRan = -1;

Status wrong(const Place& at, TaskId task, const std::string& what) {
  return internal_error("rank " + std::to_string(at.rank) + ", " + task_text(*at.graph, task) + ": " + what);
}

Status finish(Place& at, TaskId task) {
  int& waits = at.waits[TaskGraph::index(task)];
  if (waits != 0) return wrong(at, task, waits == kRan ? "it runs twice" : "it runs ahead of a task that it waits for");
  waits = kRan;
  for (const TaskId next : at.graph->successors(task)) --at.waits[TaskGraph::index(next)];
  return Status::ok();
}

Status compute(Place& at, TaskId task) {
  CASYNC_RETURN_IF_ERROR(finish(at, task));
  const auto buffer = [&](BufferId id) -> std::optional<Code>& { return at.buffers[TaskGraph::index(id)]; };
  const auto hop = [&](BufferId id) { return at.graph->buffers()[TaskGraph::index(id)].hop; };
  const Primitive& primitive = at.graph->tasks()[TaskGraph::index(task)];
  if (const auto* encode = std::get_if<Encode>(&primitive)) {
    buffer(encode->to) = at.meaning->encode(at.rank, encode->from, hop(encode->to));
  } else if (const auto* decode = std::get_if<Decode>(&primitive)) {
    if (!buffer(decode->from)) return wrong(at, task, "the buffer is empty");
    at.meaning->decode(at.rank, *buffer(decode->from), decode->to, hop(decode->from));
  } else if (const auto* merge = std::get_if<Merge>(&primitive)) {
    std::vector<const Code*> codes;
    for (const std::optional<BufferId>& part : merge->contributions) {
      if (part && !buffer(*part)) return wrong(at, task, "a buffer is empty");
      codes.push_back(part ? &*buffer(*part) : nullptr);
    }
    buffer(merge->to) = at.meaning->merge(at.rank, *merge, codes, hop(merge->to));
  } else {
    return wrong(at, task, "a message among the tasks of a round");
  }
  return Status::ok();
}

class Run {
 public:
  Run(std::span<const RoundRun> gradients, std::span<const std::vector<Bucket>> schedules)
      : schedules_(schedules), ranks_(schedules.size()), places_(ranks_) {
    for (std::size_t r = 0; r < ranks_; ++r) {
      for (const RoundRun& gradient : gradients) {
        Place& place = places_[r].emplace_back();
        place.graph = &gradient.graphs[r];
        place.meaning = gradient.meaning;
        place.rank = static_cast<Rank>(r);
        place.buffers.resize(place.graph->buffers().size());
        for (std::size_t t = 0; t < place.graph->tasks().size(); ++t) {
          place.waits.push_back(place.graph->predecessors(TaskId(t)));
        }
      }
    }
  }

  Status go() {
    for (std::size_t b = 0; b < schedules_[0].size(); ++b) {
      std::uint32_t last = 0;
      for (std::size_t r = 0; r < ranks_; ++r) {
        const Bucket& bucket = schedules_[r].size() > b ? schedules_[r][b] : Bucket{};
        const Bucket& first = schedules_[0][b];
        if (bucket.first_gradient != first.first_gradient || bucket.gradients != first.gradients) {
          return internal_error("rank " + std::to_string(r) + " has other buckets than rank 0");
        }
        if (!bucket.rounds.empty()) last = std::max(last, bucket.rounds.back().hop);
      }
      for (std::uint32_t hop = 0; hop <= last; ++hop) CASYNC_RETURN_IF_ERROR(round(b, hop));
    }
    return all_ran();
  }

 private:
  Status round(std::size_t bucket, std::uint32_t hop) {
    std::vector<const Round*> rounds(ranks_, nullptr);
    for (std::size_t r = 0; r < ranks_; ++r) {
      for (const Round& round : schedules_[r][bucket].rounds) {
        if (round.hop == hop) rounds[r] = &round;
      }
      if (rounds[r] == nullptr) continue;
      for (const RoundTask& one : rounds[r]->tasks) CASYNC_RETURN_IF_ERROR(compute(places_[r][one.gradient], one.task));
    }
    for (std::size_t from = 0; from < ranks_; ++from) {
      for (std::size_t to = 0; to < ranks_; ++to) CASYNC_RETURN_IF_ERROR(exchange(rounds, from, to));
    }
    // A message of this round may not be what another message of it needs.
    for (std::size_t r = 0; r < ranks_; ++r) {
      if (rounds[r] == nullptr) continue;
      for (const auto* list : {&rounds[r]->sends, &rounds[r]->recvs}) {
        for (const RoundTask& one : *list) {
          Place& place = places_[r][one.gradient];
          if (place.waits[TaskGraph::index(one.task)] != 0)
            return wrong(place, one.task, "it is not due in this round");
        }
      }
      for (const auto* list : {&rounds[r]->sends, &rounds[r]->recvs}) {
        for (const RoundTask& one : *list) CASYNC_RETURN_IF_ERROR(finish(places_[r][one.gradient], one.task));
      }
    }
    return Status::ok();
  }

  Status exchange(const std::vector<const Round*>& rounds, std::size_t from, std::size_t to) {
    std::vector<RoundTask> sends, recvs;
    if (rounds[from] != nullptr) {
      for (const RoundTask& one : rounds[from]->sends) {
        if (message<Send>(from, one).to == static_cast<Rank>(to)) sends.push_back(one);
      }
    }
    if (rounds[to] != nullptr) {
      for (const RoundTask& one : rounds[to]->recvs) {
        if (message<Recv>(to, one).from == static_cast<Rank>(from)) recvs.push_back(one);
      }
    }
    if (sends.size() != recvs.size()) {
      return internal_error("rank " + std::to_string(from) + " sends " + std::to_string(sends.size()) +
                            " messages to rank " + std::to_string(to) + ", which expects " +
                            std::to_string(recvs.size()));
    }
    for (std::size_t k = 0; k < sends.size(); ++k) CASYNC_RETURN_IF_ERROR(carry(from, sends[k], to, recvs[k]));
    return Status::ok();
  }

  Status carry(std::size_t from, const RoundTask& sent, std::size_t to, const RoundTask& expected) {
    Place& source = places_[from][sent.gradient];
    Place& target = places_[to][expected.gradient];
    const Send& send = message<Send>(from, sent);
    const Recv& recv = message<Recv>(to, expected);
    const bool same =
        sent.gradient == expected.gradient && send.id == recv.id &&
        source.graph->buffers()[TaskGraph::index(send.from)] == target.graph->buffers()[TaskGraph::index(recv.to)];
    if (!same) return wrong(target, expected.task, "it meets " + task_text(*source.graph, sent.task));
    const std::optional<Code>& code = source.buffers[TaskGraph::index(send.from)];
    if (!code) return wrong(source, sent.task, "the buffer is empty");
    target.buffers[TaskGraph::index(recv.to)] = code;
    return Status::ok();
  }

  template <class Message>
  const Message& message(std::size_t rank, const RoundTask& one) const {
    return std::get<Message>(places_[rank][one.gradient].graph->tasks()[TaskGraph::index(one.task)]);
  }

  Status all_ran() const {
    for (const std::vector<Place>& rank : places_) {
      for (const Place& place : rank) {
        for (std::size_t t = 0; t < place.waits.size(); ++t) {
          if (place.waits[t] != kRan) return wrong(place, TaskId(t), "it is in no round");
        }
      }
    }
    return Status::ok();
  }

  std::span<const std::vector<Bucket>> schedules_;
  const std::size_t ranks_;
  std::vector<std::vector<Place>> places_;  ///< by rank, then gradient
};

}  // namespace

Status interpret_rounds(std::span<const RoundRun> gradients, std::span<const std::vector<Bucket>> schedules) {
  return Run(gradients, schedules).go();
}

}  // namespace casync::test
