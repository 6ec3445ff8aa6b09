// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "casync/graph/task_graph.h"
#include "casync/model/plan.h"
#include "casync/simulator/costs.h"
#include "casync/simulator/symmetry.h"

namespace casync {

/// The kind of a task. An instant task moves no byte.
enum class TaskVerb : std::uint8_t { kInstant, kEncode, kMerge, kDecode, kSend, kRecv };

/// The costs of a buffer's bytes and operations, one for each value of Hop.
using HopCosts = std::array<CodecCosts, 4>;

inline constexpr std::uint32_t kNoTask = ~std::uint32_t{0};

/// A task of any rank, in as few bytes as possible: there are millions.
struct FlatTask {
  double seconds = 0;       ///< of an encode, merge or decode
  float shared_s = 0;       ///< of `seconds`, the part that tasks of one codec and verb share in a batch on a device
  std::uint32_t codec = 0;  ///< tells codecs apart
  float upload_s = 0;       ///< of copies to the device that encodes, ahead of its work
  float download_s = 0;     ///< of the copy from it
  Bytes bytes = 0;          ///< of a send
  std::uint32_t run = 0;    ///< rank * gradients + gradient
  std::uint32_t hop = 0;    ///< position on its way: larger is more urgent
  std::uint32_t message_hop = 0;
  std::uint32_t partition = 0;
  std::uint32_t peer_task = kNoTask;  ///< of a send: the recv it ends in, and the reverse; or its representative's
  Rank peer = -1;                     ///< at the other end of a message, itself
  std::uint32_t first_successor = 0;  ///< up to the next task's
  std::int32_t waits_for = 0;
  TaskVerb verb = TaskVerb::kInstant;
};

/// The tasks of all gradients of one step, one gradient after the other, of the ranks that stand for all.
class FlatTasks {
 public:
  explicit FlatTasks(const Symmetry& symmetry) : symmetry_(symmetry) {}

  /// Takes in one gradient: `graphs` are those of ranks 0, 1, ... up to the period. Internal: a message without its
  /// other end.
  Status add(std::span<const TaskGraph> graphs, StrategyKind strategy, std::uint32_t gradient, std::uint32_t gradients,
             const HopCosts& costs);

  /// Takes in a gradient of asynchronous ranks: `own` are the graphs of their steps, as gradient `gradient`, and
  /// `owners` those of owners, as gradient `side`. Messages are from one to the other. Internal: as add().
  Status add_asynchronous(std::span<const TaskGraph> own, std::span<const TaskGraph> owners, std::uint32_t gradient,
                          std::uint32_t side, std::uint32_t gradients, const HopCosts& costs);
  /// Adds a batch of an owner, whose seconds are not known ahead; returns its task. It is nobody's successor.
  std::uint32_t add_batch(std::uint32_t run, std::uint32_t partition);

  /// Takes in a gradient whose codec exchanges: a turn ahead of each of exchanges[0], [1], ..., and one after the last;
  /// `exchanges` has the graphs of ranks 0, 1, ..., and `costs` is those of each. A rank's turn begins when the
  /// previous exchange is over there.
  Status add_rounds(std::span<const std::vector<TaskGraph>> exchanges, StrategyKind strategy,
                    std::span<const double> turn_s, std::uint32_t gradient, std::uint32_t gradients,
                    std::span<const HopCosts> costs);

  /// The number of gradients that have been taken in, each counted as often as it has tasks of its own.
  std::uint32_t gradients() const { return static_cast<std::uint32_t>(ranges_.size()); }
  const Symmetry& symmetry() const { return symmetry_; }
  std::span<const FlatTask> tasks() const { return tasks_; }
  std::span<const std::uint32_t> successors(std::uint32_t task) const;
  /// The tasks of one rank's graph: [begin, end).
  struct Range {
    std::uint32_t begin = 0, end = 0;
  };
  Range of(std::uint32_t rank, std::uint32_t gradient) const { return ranges_[gradient][rank]; }

 private:
  /// The place of a graph within a gradient.
  struct Chain {
    std::uint32_t hop = 0;    ///< of its first tasks
    bool is_chained = false;  ///< a turn precedes it, and one follows it
  };
  void add_rank(const TaskGraph& graph, std::uint32_t run, const HopCosts& costs, Chain chain);
  void add_turn(FlatTask turn, const TaskGraph* next);
  std::vector<Range>& ranges_at(std::uint32_t gradient);
  void add_ranks(std::span<const TaskGraph> graphs, std::uint32_t gradient, std::uint32_t gradients,
                 const HopCosts& costs);
  /// The ends of messages, until they are connected.
  struct Ends;
  void add_ends(std::span<const TaskGraph> graphs, StrategyKind strategy, std::span<const Range> ranges,
                Ends& ends) const;
  Status connect(Ends ends);
  Status connect(std::span<const TaskGraph> graphs, StrategyKind strategy, std::span<const Range> ranges);

  const Symmetry symmetry_;
  std::vector<FlatTask> tasks_;
  std::vector<std::uint32_t> successors_;
  std::vector<std::vector<Range>> ranges_;  // [gradient][rank]
};

}  // namespace casync
