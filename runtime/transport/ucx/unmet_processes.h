// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/clock.h"
#include "base/units.h"

namespace casync::runtime {

/// Processes on this machine that share memory with this one, and to which it has no endpoint yet.
///
/// UCX 1.22 crashes where it reads the first word of a process that has ended: it makes an endpoint of its own, finds
/// no way back, as that memory is gone, and reports the failure of an endpoint that has no configuration. To one that
/// we have reached nothing of the kind happens. So UCX rests for a while if one of these has ended: the job's end,
/// which the control plane knows by then, comes first. A process that left in order has sent nothing here, and is
/// forgotten.
class UnmetProcesses {
 public:
  static constexpr Seconds kRest{0.5};
  /// Longer than a transport takes to close after a failure: it does not begin to work again meanwhile.
  static constexpr Seconds kLastRest{2};
  /// Shorter pauses are not asked about: who sends and ends within one is rare.
  static constexpr Seconds kPause{0.001};

  void add(Rank peer, int pid) { processes_.push_back({peer, pid}); }
  /// There is an endpoint to the peer.
  void meet(Rank peer);
  bool empty() const { return processes_.empty(); }
  /// All leave in order: who has ended has sent nothing that is still to come.
  void forget_all();
  /// The transport closes.
  void begin_last_rest(Clock::time_point now);

  /// Returns true while UCX has to rest. Called ahead of each of its turns.
  bool must_rest(Clock::time_point now);
  bool resting() const { return rest_until_ != Clock::time_point{}; }

 private:
  struct Process {
    Rank peer;
    int pid;
  };
  std::vector<Process> processes_;
  Clock::time_point last_turn_{};
  Clock::time_point rest_until_{};  ///< {}: UCX works
  bool closing_ = false;
};

/// Returns true if there is no such process, or it is a zombie.
bool has_ended(int pid);

}  // namespace casync::runtime
