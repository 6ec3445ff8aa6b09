// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/executor/arena.h"
#include "runtime/executor/dissolved_bundles.h"
#include "runtime/executor/executor_options.h"
#include "runtime/executor/failures.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/gradient_steps.h"
#include "runtime/executor/messages.h"
#include "runtime/executor/ready_tasks.h"
#include "runtime/executor/requests.h"
#include "runtime/executor/run_table.h"
#include "runtime/executor/waiters.h"
#include "runtime/executor/waiting_bundles.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// Bundles: small gradients that are submitted together go through encode, send, merge and decode as one. A rank
/// decides for itself, in each step: where members begin one by one, a bundle that comes is taken apart
/// (WaitingBundles), and where they began as a bundle, a message of one member dissolves it (DissolvedBundles). The
/// progress thread's.
class Bundles {
 public:
  /// Borrows all of these.
  Bundles(const ExecutorOptions& options, const Device& device, Transport& transport, Arena& arena,
          const RunTable& runs, ReadyTasks& ready, GradientSteps& steps, Messages& messages, Waiters& waiters,
          Failures& failures);

  /// Makes bundles of those of `runs` that are small, and tells these.
  std::vector<std::unique_ptr<GradientRun>> make(std::span<GradientRun* const> runs) const;
  /// Takes over bundles that make() has made.
  void take_in(std::vector<std::unique_ptr<GradientRun>> bundles);

  /// Begins gradients. Bundles whose members are all there begin as such.
  void begin_all(std::span<const GradientStart> starts);
  /// All tasks of a bundle are done: so are its members.
  void finish(GradientRun& bundle);
  /// Finds the place of a message that is a bundle.
  Placement place(Rank from, const Message& message);
  /// Returns false if the message, which has arrived, is not one to be taken apart.
  bool received(Rank from, const Message& message) { return waiting_.received(from, message); }
  /// A message of one member has come while the bundle is under way: its sender does not have the others yet, and may
  /// wait for this one's result earlier. So the members go on one by one.
  void dissolve(GradientRun& bundle) { dissolved_.dissolve(bundle); }
  /// A send of a bundle that has been dissolved is over.
  void sent_dissolved(GradientRun& bundle) { dissolved_.sent(bundle); }

  /// Hands over all that messages may still arrive in.
  struct Memory {
    std::vector<std::unique_ptr<GradientRun>> bundles;
    WaitingBundles::Memory waiting;
  };
  Memory release() { return {std::move(bundles_), waiting_.release()}; }

 private:
  std::size_t begin_bundles(std::span<const GradientStart> starts);
  void begin_bundle(GradientRun& bundle, std::uint32_t step);
  void begin_alone(const GradientStart& start);

  const ExecutorOptions& options_;
  const Device& device_;
  Transport& transport_;
  const RunTable& runs_;
  ReadyTasks& ready_;
  GradientSteps& steps_;
  Messages& messages_;
  Waiters& waiters_;
  WaitingBundles waiting_;
  DissolvedBundles dissolved_;
  std::vector<std::unique_ptr<GradientRun>> bundles_;
  std::vector<GradientRun*> offered_;  ///< bundles with a member among the starts under way
};

}  // namespace casync::runtime
