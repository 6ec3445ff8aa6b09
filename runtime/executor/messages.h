// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/status.h"
#include "runtime/executor/asynchronous_ranks.h"
#include "runtime/executor/comparisons.h"
#include "runtime/executor/executor_options.h"
#include "runtime/executor/failures.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/gradient_steps.h"
#include "runtime/executor/links.h"
#include "runtime/executor/ready_queue.h"
#include "runtime/executor/run_table.h"
#include "runtime/executor/work_record.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

class Bundles;

/// Messages of gradients, as the transport reports them: each gets its place when it comes, and its gradient goes on
/// once it has arrived. The progress thread's.
class Messages final : public TransportClient {
 public:
  /// Borrows all of these.
  Messages(const RunTable& runs, Links& links, GradientSteps& steps, AsynchronousRanks& asynchronous, Bundles& bundles,
           Comparisons& comparisons, Failures& failures, WorkRecord& record, const ExecutorEvents& events);

  /// The message of a Send that is ready.
  static Outgoing outgoing(const ReadyTask& ready);

  Placement place(Rank from, const Message& message) override;
  void received(Rank from, const Message& message, Status status) override;
  void sent(std::uint64_t cookie, Status status) override;
  void failed(Rank peer, Status status) override;

  /// Finds the place of a message of a step of `run` that is under way.
  Placement place_whole(GradientRun& run, Rank from, const Message& message, MessageId id);

 private:
  Placement place_payload(Rank from, const Message& message);
  Placement place_contribution(GradientRun& run, Rank from, const Message& message);
  void received_payload(Rank from, const Message& message);
  void received_whole(GradientRun& run, Rank from, const Message& message, MessageId id);

  const RunTable& runs_;
  Links& links_;
  GradientSteps& steps_;
  AsynchronousRanks& asynchronous_;
  Bundles& bundles_;
  Comparisons& comparisons_;
  Failures& failures_;
  WorkRecord& record_;
  const ExecutorEvents& events_;
};

}  // namespace casync::runtime
