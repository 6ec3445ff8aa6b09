// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "runtime/executor/ended_ranks.h"
#include "runtime/executor/executor_options.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// Words between asynchronous ranks about answers that wait: an owner tells each rank for whom its answer waits, so
/// that the rank's own report names that one. Ranks that have ended are told if others go on.
///
/// Threads: the progress thread's, unless a comment says otherwise.
class AnswerWaits {
 public:
  /// Borrows all of these. `runs`: those of asynchronous ranks.
  AnswerWaits(const ExecutorOptions& options, Transport& transport, const std::vector<GradientRun*>& runs,
              const EndedRanks& ended)
      : options_(options), transport_(transport), runs_(runs), ended_(ended) {}

  /// A step of this rank has begun.
  void note_step() { ++begun_; }
  /// A word of another rank has come.
  void note_word() { ++words_; }
  /// Another rank has gone on.
  void note_other() { others_went_on_.fetch_add(1); }
  /// A number that changes when another rank is known to have gone on. Any thread.
  std::uint64_t others_went_on() const { return others_went_on_.load(); }

  /// Sends these words, at most once in each ExecutorOptions::stall.
  void say(Clock::time_point now);
  /// Takes an owner's word about the answer to this rank.
  void take(const Message& message);
  /// Bytes of all words so far, both ways: they are sent because nothing goes on.
  Bytes word_bytes() const { return words_ * kFrameHeaderBytes; }
  /// For whom an answer to this rank waits, "" if that is not known.
  std::string of(const GradientRun& run, Rank owner, std::uint32_t partition) const;

 private:
  void send(Rank to, const MessageKey& key, std::uint64_t elements = 0);

  const ExecutorOptions& options_;
  Transport& transport_;
  const std::vector<GradientRun*>& runs_;
  const EndedRanks& ended_;
  std::atomic<std::uint64_t> others_went_on_{0};
  std::uint64_t words_ = 0;                   ///< sent and received
  std::uint64_t begun_ = 0, begun_said_ = 0;  ///< gradients' steps here, and when it was last said
  Clock::time_point said_ = Clock::now();
};

}  // namespace casync::runtime
