// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "casync/simulator/engine/work.h"
#include "casync/simulator/event_queue.h"
#include "casync/simulator/flat_tasks.h"
#include "casync/simulator/shared_kernels.h"
#include "casync/simulator/task_turn.h"
#include "casync/simulator/urgent_queue.h"

namespace casync::engine {

struct Engine;

/// The processors of each rank: its codec tasks, which slow training down and are slowed by it. With one processor a
/// thread does both codec tasks and messages by turns (TaskTurns), as the executor does.
class Processors {
 public:
  explicit Processors(Engine& engine);

  /// Something may begin at `rank`.
  void mark(Rank rank);
  /// Begins what may begin at ranks that were marked: copies, codec tasks, messages.
  void start_all() { start_marked(true); }
  /// As start_all(), without turns of codec tasks that follow another turn, whose messages leave first.
  void go_on() { start_marked(false); }

  /// A codec task is ready.
  void queue(std::uint32_t task);
  bool ends_codec(const Event& event) const { return of(static_cast<Rank>(event.subject)).codec.ends_with(event); }
  void end_codec(Rank rank);
  bool is_coding(Rank rank) const { return of(rank).codec.running(); }
  /// Returns true if no message of this rank can leave now: its only thread computes.
  bool holds_messages(Rank rank) const { return one_thread_ && is_coding(rank); }

  /// The rate that codec tasks and messages leave training.
  double training_rate(Rank rank) const;
  /// The slowdown of codec tasks and messages of this rank.
  double slowness_of(Rank rank) const;

 private:
  struct OfRank {
    Work codec{Event::Kind::kCodec};
    std::uint32_t task = kNoTask;  ///< of the codec
    double began = 0;
    TaskTurns turns;
    SharedKernels kernels;
    UrgentQueue ready;
    bool marked = false;
  };

  void start_marked(bool may_begin_turn);
  void start_codec(Rank rank, bool may_begin_turn);
  bool may_start(Rank rank, bool may_begin_turn);
  double seconds_of(OfRank& own, const UrgentTask& next) const;
  double codec_rate(Rank rank, TaskVerb verb) const;
  OfRank& of(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  const OfRank& of(Rank rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

  Engine& engine_;
  const bool one_thread_;
  std::vector<OfRank> ranks_;
  std::vector<Rank> marked_, starting_;
};

}  // namespace casync::engine
