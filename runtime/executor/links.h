// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "runtime/executor/coordinated_sends.h"
#include "runtime/executor/credit_sends.h"
#include "runtime/executor/executor_options.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/handover.h"
#include "runtime/executor/ready_sends.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// This rank's sends. Those that are ready wait at the link to their receiver and leave in their order of urgency,
/// small ones together: at each link's pace (LinkPace), by leave of the coordinator (CoordinatedSends), or by a credit
/// for all links of a port (CreditSends). The progress thread's.
class Links {
 public:
  /// Borrows all of these.
  Links(const ExecutorOptions& options, Transport& transport, Handover::MakeOutgoing outgoing);
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  /// Sends by credit from now on. Not with a coordinator.
  void set_credit(Bytes bytes, const Topology& topology);
  /// Makes room for each link's own sends. Links that no graph uses take none.
  void reserve(std::span<GradientRun* const> runs) { sends_.reserve(runs); }

  void push(Rank to, const ReadyTask& ready) { sends_.push(to, ready); }
  /// Hands over to the transport what may leave now. Returns false if nothing could.
  bool flush();
  /// When flush() may hand over more, if nothing happens until then.
  Clock::time_point due() const;
  /// A message of so many bytes has been reported as sent.
  void sent(Rank to, Bytes bytes);
  /// Takes a word of, or to, the coordinator.
  void take_coordination(Rank from, const Message& message);

  // A credit's words; without a credit these do nothing.
  /// A peer's message waits here for its place.
  void put_off(Rank from, const MessageKey& message);
  /// A peer's message has arrived.
  void received(Rank from, const MessageKey& message);
  /// Word of the arrival of a message of this rank has come.
  void arrived(Rank at, const MessageKey& message);
  /// Returns true if there is word of all messages.
  bool idle() const { return credit_ == nullptr || credit_->credit().idle(); }

 private:
  bool flush_by_pace(Clock::time_point now);

  const ExecutorOptions& options_;
  Transport& transport_;
  ReadySends sends_;
  Handover handover_;
  std::unique_ptr<CoordinatedSends> coordinated_;  ///< null: no leave is needed
  std::unique_ptr<CreditSends> credit_;            ///< null: messages go by the links' pace
};

}  // namespace casync::runtime
