// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/transport/doorbell.h"
#include "runtime/transport/peers.h"
#include "runtime/transport/retry_requests.h"
#include "runtime/transport/ucx/spin.h"
#include "runtime/transport/ucx/ucx_worker.h"

namespace casync::runtime {

/// The sleep of a transport that has nothing to do: polls the worker for a while, and then sleeps until there is an
/// event. Borrows everything.
///
/// Threads: ring() from any thread; the rest on the transport's.
class UcxSleep {
 public:
  UcxSleep(std::chrono::microseconds most_polling, UcxWorker& worker, const Peers& peers, const RetryRequests& retries)
      : worker_(worker), peers_(peers), retries_(retries), spin_(most_polling) {}

  /// Unavailable: the system had no event descriptor left. Nothing else may be called then.
  Status status() const { return bell_.status(); }

  /// Ends the current or the next wait().
  void ring() { bell_.ring(); }
  /// The worker has moved outside of wait().
  void moved() { refused_ = 0; }
  /// Returns true if polling has brought anything, which the transport now looks at.
  bool wait(Clock::time_point deadline);

 private:
  static constexpr int kRefusalsToYield = 16;

  bool has_news() { return peers_.has_news() || retries_.any() || bell_.rang(); }

  UcxWorker& worker_;
  const Peers& peers_;
  const RetryRequests& retries_;
  Spin spin_;
  Doorbell bell_;
  int refused_ = 0;  // by the worker: in a row, without progress
};

}  // namespace casync::runtime
