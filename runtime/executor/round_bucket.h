// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "casync/graph/rounds.h"
#include "runtime/collective/round_transport.h"
#include "runtime/device/device.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/round_exchanges.h"
#include "runtime/executor/round_heads.h"
#include "runtime/executor/round_members.h"
#include "runtime/executor/round_parts.h"
#include "runtime/executor/round_payloads.h"
#include "runtime/executor/round_room.h"
#include "runtime/executor/round_tasks.h"

namespace casync::runtime {

/// The gradients of one bucket on this rank, in the memory of its device, and the parts in which their rounds are
/// queued. All addresses stay the same from step to step.
///
/// Threads: the progress thread. Errors: as Stream and RoundTransport.
class RoundBucket {
 public:
  /// `runs`: the gradients of the bucket, in its order.
  RoundBucket(Bucket bucket, std::span<GradientRun* const> runs, const RoundTasks::Settings& settings);
  RoundBucket(const RoundBucket&) = delete;
  RoundBucket& operator=(const RoundBucket&) = delete;

  /// Memory, and room for what kernels take. Between steps. Unavailable: no memory. Unimplemented: a graph in which
  /// this rank makes several payloads of one partition and hop.
  Status open(Device& device);

  RoundMembers& members() { return members_; }
  const RoundMembers& members() const { return members_; }
  const RoundExchanges& exchanges() const { return exchanges_; }

  std::size_t parts() const { return parts_.size(); }
  /// True: the part ends with a call of the transport, and the caller waits for its poll().
  bool calls_transport(std::size_t part) const { return parts_[part].calls_transport(); }
  /// Queues a part.
  Status issue(std::size_t part, Stream& stream, RoundTransport& transport);
  /// True: its work is over, and the gradients know if they are finite.
  Result<bool> is_over();

 private:
  Status plan();
  Status queue(const RoundPart& part, Stream& stream, RoundTransport& transport);

  const Bucket bucket_;
  RoundMembers members_;
  const std::vector<RoundPart> parts_;
  RoundPayloads payloads_;
  RoundHeads heads_;
  RoundRoom room_;
  RoundTasks tasks_;
  RoundExchanges exchanges_;
  std::unique_ptr<DeviceBuffer> memory_;  ///< of payloads, heads and tasks
  std::unique_ptr<DeviceBuffer> pinned_;  ///< what kernels are filled from, then heads
  std::unique_ptr<Event> end_;
};

}  // namespace casync::runtime
