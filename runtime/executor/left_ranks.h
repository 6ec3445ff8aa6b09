// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "runtime/executor/asynchronous_ranks.h"
#include "runtime/executor/executor_options.h"
#include "runtime/executor/failures.h"
#include "runtime/executor/run_table.h"

namespace casync::runtime {

/// Ranks that have said goodbye: each gives what it has completed, and no more. The progress thread's.
class LeftRanks {
 public:
  /// Borrows all of these.
  LeftRanks(const RunTable& runs, AsynchronousRanks& asynchronous, Failures& failures)
      : runs_(runs), asynchronous_(asynchronous), failures_(failures) {}

  void add(Leaver leaver) { leavers_.push_back(std::move(leaver)); }
  /// Ends the job where a rank that left would have to give more. Called after add(), and whenever steps have begun.
  void check();

 private:
  const RunTable& runs_;
  AsynchronousRanks& asynchronous_;
  Failures& failures_;
  std::vector<Leaver> leavers_;
};

}  // namespace casync::runtime
