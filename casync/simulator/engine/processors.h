// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "casync/simulator/engine/work.h"
#include "casync/simulator/event_queue.h"
#include "casync/simulator/flat_tasks.h"
#include "casync/simulator/task_turn.h"

namespace casync::engine {

struct Engine;

/// The processors of each rank: its training and its codec tasks, which slow each other down. With one processor a
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

  /// Training goes on for so many seconds, at the rate that codec tasks and messages leave it.
  void train(Rank rank, double seconds);
  /// Training that stood still goes on at once.
  void resume_training(Rank rank);
  void stop_training(Rank rank) { of(rank).training.stop(); }
  bool ends_training(const Event& event) const {
    return of(static_cast<Rank>(event.subject)).training.ends_with(event);
  }
  bool is_training(Rank rank) const { return of(rank).training.running(); }

  /// The slowdown of codec tasks and messages of this rank.
  double slowness_of(Rank rank) const;

 private:
  struct OfRank {
    Work training{Event::Kind::kTraining}, codec{Event::Kind::kCodec};
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
  double training_rate(Rank rank) const;
  OfRank& of(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  const OfRank& of(Rank rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

  Engine& engine_;
  const bool one_thread_;
  std::vector<OfRank> ranks_;
  std::vector<Rank> marked_, starting_;
};

}  // namespace casync::engine
