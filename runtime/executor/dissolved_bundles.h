// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/executor/arena.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/gradient_steps.h"
#include "runtime/executor/ready_tasks.h"
#include "runtime/executor/waiters.h"
#include "runtime/executor/waiting_bundles.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// Bundles that are dissolved while they are under way: their members go on one by one, from where the bundle is. An
/// owner has made nothing yet, as a contribution was missing; others have sent theirs, as a result is here. The
/// progress thread's.
class DissolvedBundles {
 public:
  /// Borrows all of these.
  DissolvedBundles(Transport& transport, Arena& arena, ReadyTasks& ready, GradientSteps& steps, Waiters& waiters,
                   WaitingBundles& waiting)
      : transport_(transport), arena_(arena), ready_(ready), steps_(steps), waiters_(waiters), waiting_(waiting) {}

  /// Goes on with the members. Messages that have come for the bundle, or are coming, are taken apart.
  void dissolve(GradientRun& bundle);
  /// A send of a bundle that has been dissolved is over.
  void sent(GradientRun& bundle);

 private:
  void give_back_buffers(GradientRun& bundle);
  void keep_arrival(GradientRun& bundle, const Arrivals::Arrival& arrival);
  void resume(GradientRun& run, const GradientStart& start, bool has_sent);

  Transport& transport_;
  Arena& arena_;
  ReadyTasks& ready_;
  GradientSteps& steps_;
  Waiters& waiters_;
  WaitingBundles& waiting_;
};

}  // namespace casync::runtime
