// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "runtime/control/gather_book.h"
#include "runtime/control/identity.h"
#include "runtime/control/poll_set.h"

namespace casync::runtime {

/// What a role tells its group. Every call comes on the group's thread.
class RoleEvents {
 public:
  virtual ~RoleEvents() = default;
  /// All ranks are here: who they are, by rank. Once.
  virtual void joined(std::vector<Identity> roster) = 0;
  /// The job is over, and why. Once; nothing but left() follows.
  virtual void failed(const Status& cause) = 0;
  /// The answer to the one call that waits.
  virtual void gathered(Result<std::vector<BlobRef>> blobs) = 0;
  /// A rank, this one included, says goodbye.
  virtual void left(Rank rank) = 0;
};

/// What this rank does in the star: the hub, or a member. All on the group's thread; nothing here blocks.
class Role {
 public:
  virtual ~Role() = default;
  virtual void watch(PollSet& set) = 0;
  /// Beats and deadlines; returns when it has to be called again at the latest.
  virtual Clock::time_point tend(Clock::time_point now) = 0;
  /// This process did not run for so long: nobody else is to blame for that silence.
  virtual void forgive(Clock::duration stalled) = 0;

  virtual void gather(GatherCall call) = 0;
  virtual void abort(const Status& cause) = 0;
  virtual void say_goodbye() = 0;
  /// There are bytes that have not left yet.
  virtual bool has_output() const = 0;
};

}  // namespace casync::runtime
