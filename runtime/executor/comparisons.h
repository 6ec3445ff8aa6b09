// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "base/units.h"
#include "runtime/executor/executor_options.h"
#include "runtime/executor/failures.h"
#include "runtime/executor/requests.h"
#include "runtime/executor/run_table.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

class Computing;

/// Comparisons of all ranks' declarations and steps, and notices of a rank that waits for one: it has loaded a state,
/// so it gives nothing more of the steps that were.
///
/// Threads: the progress thread's, unless a comment says otherwise.
class Comparisons {
 public:
  /// Borrows all of these.
  Comparisons(const ExecutorOptions& options, Transport& transport, Requests& requests, const RunTable& runs,
              const Computing& computing, const ExecutorEvents& events, Failures& failures);

  /// This rank's gradients, which had completed all steps below `steps`, have just been set to another step: until
  /// there have been `number` comparisons messages are put off, and the peers are told. A peer that needs more of the
  /// steps that were is told that this cannot be. Any thread, while nothing is under way.
  void want(std::uint64_t number, std::uint32_t steps);
  /// All ranks have compared. Any thread.
  void end();
  /// The number of comparisons so far. Any thread.
  std::uint64_t count() const { return count_.load(); }
  /// True from want() to the last end() that it needs. Any thread.
  bool is_wanted() const { return wanted_.load() > count_.load(); }

  /// A peer says that it waits for a comparison.
  void take_notice(Rank from, const Message& message);
  /// Ends the job where a peer that waits for a comparison would have to give more of the steps that were. Called
  /// whenever steps have begun.
  void check();

 private:
  void send_notices(std::uint64_t number, std::uint32_t steps);

  const ExecutorOptions& options_;
  Transport& transport_;
  Requests& requests_;
  const RunTable& runs_;
  const Computing& computing_;
  const ExecutorEvents& events_;
  Failures& failures_;
  std::atomic<std::uint64_t> wanted_{0};  ///< so many, by this rank
  std::atomic<std::uint64_t> count_{0};
  Rank waiting_ = -1;               ///< the last peer to wait for one,
  std::uint64_t waiting_for_ = 0;   ///< which: over once count() is as many,
  std::uint32_t waiting_from_ = 0;  ///< and the number of steps it had completed
};

}  // namespace casync::runtime
