// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "runtime/device/device.h"
#include "runtime/session/group_delay.h"
#include "runtime/session/group_members.h"
#include "runtime/session/group_memory.h"
#include "runtime/session/member_submissions.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// A group of a plan, as a session sends it: memory for all members that have been declared, where their submissions
/// come together, and from where each gets its part of the result. The caller's lock guards all of it.
///
/// On a device the copies between the members' memory and the group's go through a stream. Errors, besides:
/// Unavailable: the device failed, or has no memory.
class SentGroup {
 public:
  /// Borrows the session's device.
  SentGroup(const GradientGroup& group, Device& device)
      : device_(device),
        members_(group),
        submissions_(members_.size()),
        handed_over_(members_.size(), true),
        handed_over_at_(members_.size()),
        taken_(members_.size(), false),
        memory_(make_group_memory(device, members_.size())) {}

  const GroupMembers& members() const { return members_; }
  const MemberSubmissions& submissions() const { return submissions_; }

  /// Adds the plan's member at `place`. InvalidArgument: as GroupMembers::check().
  Status declare(std::size_t place, const GradientSpec& gradient);
  /// Takes the group, with the members that are there now, as the session's gradient `id`: no member is added any more.
  /// Gathers those whose calls came earlier, or are under way.
  Status close(GradientId id);
  /// The result of the last try to close it: an error tells why it is not sent.
  void note_closed(Status status) { closed_ = std::move(status); }
  const Status& closed() const { return closed_; }
  /// The group, once it is closed.
  const std::optional<GradientId>& id() const { return id_; }

  /// Checks that a member may be submitted in `step`, in the `call`-th submission. InvalidArgument: memory that does
  /// not fit, submitted twice.
  Status check(std::size_t place, const Submission& submission, std::uint32_t step, std::uint64_t call);
  /// Copies a member's elements, which the `call`-th submission has, into the group's memory if that is there; returns
  /// true if the group has all members of `step` then. The member's result goes where they were.
  Result<bool> gather(std::size_t place, const Submission& submission, std::uint32_t step, std::uint64_t call);
  /// The call that gathered the member last has been refused: its memory is the program's.
  void take_back(std::size_t place);
  /// The wrapped session has taken the call that submits a member in `step`; with the last member, the group.
  void submitted(std::size_t place, std::uint32_t step);
  /// Returns true if a call is under way that submits some member.
  bool is_called() const;
  /// Makes the submission of a member in `step` void, as the group does not leave with it: its memory is the program's,
  /// and it may be submitted again. Waits for the group begin anew.
  void withdraw(std::size_t place, std::uint32_t step);
  /// Returns true if no device reads the member's memory.
  Result<bool> is_gathered(std::size_t place) const;
  /// Returns true if all members have been submitted in `step`.
  bool is_whole(std::uint32_t step) const { return submissions_.count_in(step) == members_.declared(); }
  /// "`c`", or "`c` and 2 more": the members that are missing in `step`, also those that were never declared while the
  /// group may get them.
  std::string missing(std::uint32_t step) const;
  /// InvalidArgument: the group has not left in `step`, with the members that are missing. `then` ends its text. Or the
  /// reason that it cannot be closed.
  Status incomplete(std::uint32_t step, const char* then) const;
  /// The submission of all members' elements.
  Submission submission() { return memory_->submission(*id_); }
  /// The wrapped session has taken that in `step`.
  void left(std::uint32_t step) { left_steps_ = step + 1; }
  bool has_left(std::uint32_t step) const { return left_steps_ == step + 1; }
  /// Waits for the group while it has not left.
  GroupDelay& delay() { return delay_; }

  /// Returns true if the member's submission of `step` has its result, or a device copies it.
  bool is_handed_over(std::size_t place, std::uint32_t step) const {
    return handed_over_[place] || submissions_.is_past(place, step);
  }
  /// Returns true if it has it.
  Result<bool> has_result(std::size_t place, std::uint32_t step) const;
  /// Copies the result to the member that was submitted last. `is_finite`: all of the group's result is known to be.
  Status hand_over(std::size_t place, bool is_finite);
  /// The same for all; returns true if they have it.
  Result<bool> hand_over_all(bool is_finite);
  /// Returns true if no device copies between the group's memory and its members'.
  Result<bool> copies_are_over() const;
  /// The time at which a device began to copy the member's last result.
  Clock::time_point handed_over_at(std::size_t place) const { return handed_over_at_[place]; }
  /// The first member by name whose result was not finite; "": none was. Once all have been handed over.
  Result<std::string> not_finite() const;

  /// Forgets all submissions.
  void forget();

 private:
  void look_at_in_place(std::size_t place, View result);

  Device& device_;
  GroupMembers members_;
  MemberSubmissions submissions_;
  std::vector<bool> handed_over_;                  ///< by place: the result of the last submission, if there is one
  std::vector<Clock::time_point> handed_over_at_;  ///< by place
  std::vector<bool> taken_;                        ///< by place: by a call that is under way
  std::optional<GradientId> id_;
  Status closed_;                 ///< as note_closed()
  std::uint32_t left_steps_ = 0;  ///< 1 + the last step that it has left in; 0: none
  GroupDelay delay_;
  std::unique_ptr<GroupMemory> memory_;
  std::string not_finite_in_place_;  ///< as not_finite(), of a step whose results lie where the members do
};

}  // namespace casync::runtime
