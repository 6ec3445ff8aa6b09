// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "runtime/device/device.h"
#include "runtime/executor/arena.h"
#include "runtime/executor/asynchronous_ranks.h"
#include "runtime/executor/bundles.h"
#include "runtime/executor/comparisons.h"
#include "runtime/executor/computing.h"
#include "runtime/executor/executor_options.h"
#include "runtime/executor/failures.h"
#include "runtime/executor/gradient_steps.h"
#include "runtime/executor/left_ranks.h"
#include "runtime/executor/links.h"
#include "runtime/executor/messages.h"
#include "runtime/executor/missing_work.h"
#include "runtime/executor/ready_tasks.h"
#include "runtime/executor/requests.h"
#include "runtime/executor/run_table.h"
#include "runtime/executor/waiters.h"
#include "runtime/executor/work_record.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// The parts of an executor that belong to its progress thread. Other threads use them until that thread has begun;
/// afterwards only functions whose comments allow it.
struct ProgressParts {
  /// Borrows all of these.
  ProgressParts(const ExecutorOptions& options, Transport& transport, Device& device, Requests& requests,
                Waiters& waiters, Failures& failures, WorkRecord& record, const ExecutorEvents& events);

  /// Takes gradients in: memory for their messages, room in the queues. Errors: as RunTable::check, Computing::take_in
  /// and Arena::add.
  Status take_in(std::vector<std::unique_ptr<GradientRun>> gradients);
  /// Keeps for ever all that messages may still arrive in, and what tasks work on: a network device, or the gradients'
  /// own, may write there.
  void keep_memory();

  const ExecutorOptions& options;
  Arena arena;
  RunTable runs;
  Links links;
  ReadyTasks ready{links};
  GradientSteps steps;
  Computing computing;
  AsynchronousRanks asynchronous;
  Bundles bundles;
  Comparisons comparisons;
  LeftRanks left;
  MissingWork missing;
  Messages messages;

 private:
  Status make_room(std::span<GradientRun* const> all);
};

}  // namespace casync::runtime
