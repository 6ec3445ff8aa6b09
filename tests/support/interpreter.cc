// SPDX-License-Identifier: Apache-2.0
#include "tests/support/interpreter.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "casync/graph/access.h"
#include "casync/graph/graph_text.h"

namespace casync::test {
namespace {

using MessageKey = std::tuple<Rank, Rank, MessageId>;  // from, to, id

std::string text(const MessageKey& key) {
  const auto& [from, to, id] = key;
  return "message " + std::to_string(id.partition) + "." + std::to_string(id.hop) + " from rank " +
         std::to_string(from) + " to rank " + std::to_string(to);
}

struct HashOfKey {
  std::size_t operator()(const MessageKey& key) const {
    const auto& [from, to, id] = key;
    std::size_t hash = 0;
    for (const auto part : {std::int64_t{from}, std::int64_t{to}, std::int64_t{id.partition}, std::int64_t{id.hop}}) {
      hash = (hash ^ static_cast<std::size_t>(part)) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

struct Step {
  std::size_t rank = 0;
  TaskId task{};
  bool operator<(const Step& other) const { return std::tie(rank, task) < std::tie(other.rank, other.task); }
};

/// A message: the steps that wait for it, and the codes that it carries once it is sent.
struct Message {
  std::optional<Step> waiting_send, waiting_recv;
  std::optional<Code> in_flight;
};

class Run {
 public:
  Run(std::span<const TaskGraph> ranks, Meaning& meaning, const Schedule& schedule)
      : ranks_(ranks), meaning_(meaning), schedule_(schedule), random_(schedule.seed) {
    number_messages();
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      buffers_.emplace_back(ranks[r].buffers().size());
      waits_.emplace_back(ranks[r].tasks().size());
      for (std::size_t t = 0; t < ranks[r].tasks().size(); ++t) {
        waits_[r][t] = ranks[r].predecessors(TaskId(t));
        if (waits_[r][t] == 0) ready({r, TaskId(t)});
      }
      left_ += ranks[r].tasks().size();
    }
  }

  Status go() {
    while (!runnable_.empty()) CASYNC_RETURN_IF_ERROR(perform(next()));
    return left_ == 0 ? Status::ok() : deadlock();
  }

 private:
  const Primitive& task(const Step& step) const { return ranks_[step.rank].tasks()[TaskGraph::index(step.task)]; }
  std::optional<Code>& buffer(std::size_t rank, BufferId id) { return buffers_[rank][TaskGraph::index(id)]; }
  Hop hop(std::size_t rank, BufferId id) const { return ranks_[rank].buffers()[TaskGraph::index(id)].hop; }

  std::optional<MessageKey> key_of(const Step& step) const {
    if (const auto* recv = std::get_if<Recv>(&task(step))) return MessageKey{recv->from, rank(step), recv->id};
    if (const auto* send = std::get_if<Send>(&task(step))) return MessageKey{rank(step), send->to, send->id};
    return std::nullopt;
  }

  // Once for each task: by its number a message is found many times as quickly as by its key.
  void number_messages() {
    std::unordered_map<MessageKey, std::size_t, HashOfKey> numbers;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      message_of_.emplace_back(ranks_[r].tasks().size());
      for (std::size_t t = 0; t < ranks_[r].tasks().size(); ++t) {
        if (const auto key = key_of({r, TaskId(t)})) {
          message_of_[r][t] = numbers.try_emplace(*key, numbers.size()).first->second;
        }
      }
    }
    messages_.resize(numbers.size());
  }
  Message& message(const Step& step) { return messages_[message_of_[step.rank][TaskGraph::index(step.task)]]; }

  // A heap whose first step is the next one, unless the order is random.
  auto heap_order() const {
    const bool earliest = schedule_.order == Order::kEarliest;
    return [earliest](const Step& a, const Step& b) { return earliest ? b < a : a < b; };
  }

  void add_runnable(const Step& step) {
    runnable_.push_back(step);
    if (schedule_.order != Order::kRandom) std::push_heap(runnable_.begin(), runnable_.end(), heap_order());
  }

  Step next() {
    if (schedule_.order == Order::kRandom) {
      std::swap(runnable_[random_() % runnable_.size()], runnable_.back());
    } else {
      std::pop_heap(runnable_.begin(), runnable_.end(), heap_order());
    }
    const Step step = runnable_.back();
    runnable_.pop_back();
    return step;
  }

  // Its predecessors are done. A recv also waits for its message, and under rendezvous a send for its recv: the
  // two then count as one runnable step, the recv.
  void ready(const Step& step) {
    if (std::holds_alternative<Recv>(task(step))) {
      Message& message = this->message(step);
      if (!message.waiting_recv) message.waiting_recv = step;
      if (message.in_flight || message.waiting_send) add_runnable(step);
      return;
    }
    if (!std::holds_alternative<Send>(task(step)) || schedule_.delivery == Delivery::kBuffered) {
      add_runnable(step);
      return;
    }
    Message& message = this->message(step);
    if (!message.waiting_send) message.waiting_send = step;
    if (message.waiting_recv) add_runnable(*message.waiting_recv);
  }

  Status perform(const Step& step) {
    Status status = std::visit(
        Match{[&](const Encode& t) {
                return store(step, t.to, meaning_.encode(rank(step), t.from, hop(step.rank, t.to)));
              },
              [&](const Decode& t) { return decode(step, t); }, [&](const Merge& t) { return merge(step, t); },
              [&](const Send& t) { return post(step, t); }, [&](const Recv& t) { return take(step, t); }},
        task(step));
    if (status.is_ok()) finish(step);
    return status;
  }

  static Rank rank(const Step& step) { return static_cast<Rank>(step.rank); }

  Status deadlock() const {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (std::size_t t = 0; t < waits_[r].size(); ++t) {
        if (waits_[r][t] != kDone) return wrong({r, TaskId(t)}, "deadlock: this task can never run");
      }
    }
    return internal_error("a task was lost");
  }

  Status wrong(const Step& step, const std::string& what) const {
    return internal_error("rank " + std::to_string(step.rank) + ", " + task_text(ranks_[step.rank], step.task) + ": " +
                          what);
  }

  Status store(const Step& step, BufferId id, Code code) {
    if (buffer(step.rank, id)) return wrong(step, "the buffer is full already");
    buffer(step.rank, id) = std::move(code);
    return Status::ok();
  }

  Status decode(const Step& step, const Decode& decode) {
    if (!buffer(step.rank, decode.from)) return wrong(step, "the buffer is empty");
    meaning_.decode(rank(step), *buffer(step.rank, decode.from), decode.to, hop(step.rank, decode.from));
    return Status::ok();
  }

  Status merge(const Step& step, const Merge& merge) {
    std::vector<const Code*> codes;
    for (const std::optional<BufferId>& part : merge.contributions) {
      if (part && !buffer(step.rank, *part)) return wrong(step, "a buffer is empty");
      codes.push_back(part ? &*buffer(step.rank, *part) : nullptr);
    }
    return store(step, merge.to, meaning_.merge(rank(step), merge, codes, hop(step.rank, merge.to)));
  }

  Status post(const Step& step, const Send& send) {
    if (!buffer(step.rank, send.from)) return wrong(step, "the buffer is empty");
    Message& message = this->message(step);
    if (message.in_flight) return wrong(step, "sent twice");
    message.in_flight = *buffer(step.rank, send.from);
    if (message.waiting_recv) add_runnable(*message.waiting_recv);
    return Status::ok();
  }

  Status take(const Step& step, const Recv& recv) {
    Message& message = this->message(step);
    message.waiting_recv.reset();
    if (message.waiting_send) {
      const Step sender = *message.waiting_send;
      message.waiting_send.reset();
      CASYNC_RETURN_IF_ERROR(perform(sender));
    }
    if (!message.in_flight) return wrong(step, "no message");
    Code code = std::move(*message.in_flight);
    message.in_flight.reset();
    return store(step, recv.to, std::move(code));
  }

  void finish(const Step& step) {
    --left_;
    waits_[step.rank][TaskGraph::index(step.task)] = kDone;
    for (TaskId next : ranks_[step.rank].successors(step.task)) {
      if (--waits_[step.rank][TaskGraph::index(next)] == 0) ready({step.rank, next});
    }
  }

  static constexpr int kDone = -1;

  std::span<const TaskGraph> ranks_;
  Meaning& meaning_;
  Schedule schedule_;
  std::mt19937_64 random_;
  std::vector<std::vector<std::optional<Code>>> buffers_;
  std::vector<std::vector<int>> waits_;
  std::vector<Step> runnable_;
  std::vector<Message> messages_;
  std::vector<std::vector<std::size_t>> message_of_;  ///< by rank and task, of sends and recvs
  std::size_t left_ = 0;
};

// The messages that tasks of one kind name, with what their buffer holds.
template <class Half>
std::map<MessageKey, Buffer> halves(std::span<const TaskGraph> ranks) {
  std::map<MessageKey, Buffer> found;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto self = static_cast<Rank>(r);
    for (const Primitive& task : ranks[r].tasks()) {
      const auto* half = std::get_if<Half>(&task);
      if (!half) continue;
      if constexpr (std::is_same_v<Half, Send>) {
        found[{self, half->to, half->id}] = ranks[r].buffers()[TaskGraph::index(half->from)];
      } else {
        found[{half->from, self, half->id}] = ranks[r].buffers()[TaskGraph::index(half->to)];
      }
    }
  }
  return found;
}

}  // namespace

Status interpret(std::span<const TaskGraph> ranks, Meaning& meaning, const Schedule& schedule) {
  return Run(ranks, meaning, schedule).go();
}

Status check_messages(std::span<const TaskGraph> ranks) {
  const auto sent = halves<Send>(ranks);
  const auto expected = halves<Recv>(ranks);
  for (const auto& [key, buffer] : sent) {
    const auto recv = expected.find(key);
    if (recv == expected.end()) return internal_error(text(key) + " is sent, but not expected");
    if (!(recv->second == buffer)) return internal_error(text(key) + " is sent as one thing and expected as another");
  }
  for (const auto& [key, buffer] : expected) {
    if (!sent.contains(key)) return internal_error(text(key) + " is expected, but not sent");
  }
  return Status::ok();
}

}  // namespace casync::test
