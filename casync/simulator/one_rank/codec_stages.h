// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "casync/simulator/one_rank/clock.h"
#include "casync/simulator/outline.h"
#include "casync/simulator/shared_kernels.h"
#include "casync/simulator/task_turn.h"
#include "casync/simulator/urgent_queue.h"

namespace casync {
class OneRank;
}

namespace casync::one_rank {

/// The codec: one stage after the other, most urgent first.
class CodecStages {
 public:
  explicit CodecStages(OneRank& rank) : rank_(rank) {}

  void reset();
  void queue(const UrgentTask& item) { ready_.push(item); }
  /// Begins what may begin, and sets the rates of codec, messages and training.
  void start() { start(true); }
  /// As start(), without turns that follow another one, as engine::Processors::go_on().
  void go_on() { start(false); }
  void end(const Event& event);
  bool is_running() const { return work_.running(); }

 private:
  void start(bool may_begin_turn);
  bool may_start(bool may_begin_turn);
  double rate(const Stage& stage) const;
  double seconds_of(std::uint32_t item, std::uint64_t arrival);

  OneRank& rank_;
  Work work_{Event::Kind::kCodec};
  double began_ = 0;
  TaskTurns turns_;
  std::uint32_t item_ = 0;
  UrgentQueue ready_;
  SharedKernels kernels_;
};

}  // namespace casync::one_rank
