// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "runtime/device/device.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// The memory of a group of gradients, one after the other, and its copies from and to its members' own, on the host or
/// on a device. Members that lie one after the other on the host are not copied.
///
/// Threads: one at a time. Errors: Unavailable, as Stream and Device; on the host none.
class GroupMemory {
 public:
  virtual ~GroupMemory() = default;

  /// Makes room for what is noted of a member.
  virtual Status add(std::size_t member) = 0;
  /// Allocates the memory, once.
  virtual Status allocate(Bytes bytes) = 0;

  /// A step begins: nothing of it has been gathered.
  virtual void begin_step() {}
  /// Takes a member's submission, whose memory holds its gradient and is to hold its result.
  virtual Status take(std::size_t member, const Submission& submission) = 0;
  /// Begins to copy the gradient that was taken to `offset`. Once more for a member that was taken back.
  virtual Status gather(std::size_t member, Bytes offset) = 0;
  /// The submission that was taken last is void: its memory is the program's.
  virtual void take_back(std::size_t) {}
  /// The submission of the whole: it comes behind what was gathered.
  virtual Submission submission(GradientId id) = 0;
  /// Begins to copy the result at `offset` to the member's memory.
  virtual Status hand_over(std::size_t member, Bytes offset) = 0;
  /// Returns true if the last copy of the member is over, of gather() or hand_over().
  virtual Result<bool> is_handed_over(std::size_t member) const = 0;

  /// The member's memory, if its result is in no other place: it is the program's again once it has been handed over.
  virtual View in_place(std::size_t) const { return {}; }
  /// Copies all of it, while nothing is under way; nothing, if the result lies where its members do.
  virtual Status read(std::vector<std::byte>* to) const = 0;
};

/// For at most `members` members, without memory. Borrows the device.
std::unique_ptr<GroupMemory> make_group_memory(Device& device, std::size_t members);

}  // namespace casync::runtime
