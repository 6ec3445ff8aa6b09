// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "runtime/device/device.h"
#include "runtime/session/group_memory.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// A group of a plan, as a session sends it: the members that have been declared, and memory for all of them, one after
/// the other. Until it is closed members may be added. The caller's lock guards all of it.
///
/// On a device the copies between the members' memory and the group's go through a stream. Errors, besides:
/// Unavailable: the device failed, or has no memory.
class SentGroup {
 public:
  /// Borrows the session's device.
  SentGroup(const GradientGroup& group, Device& device)
      : device_(device),
        group_(group),
        places_(group.gradients.size()),
        memory_(make_group_memory(device, group.gradients.size())) {}

  const std::string& name() const { return group_.name; }
  /// Adds the plan's member at `place`. InvalidArgument: declared otherwise before, of another type than the others, or
  /// the group is closed.
  Status declare(std::size_t place, const GradientSpec& gradient);
  bool has_all() const { return declared_ == places_.size(); }
  const GradientSpec& spec_of(std::size_t place) const { return places_[place].spec; }

  /// The specification of the whole, with the members that are there now. Some are.
  GradientSpec spec() const;
  /// Takes the group as the session's gradient `id`: no member is added any more.
  Status close(GradientId id, GradientSpec spec);
  /// The group, once it is closed.
  const std::optional<GradientId>& id() const { return id_; }
  const GradientSpec& whole() const { return whole_; }

  /// Checks that a member may be submitted in `step`, in the `call`-th submission. InvalidArgument: memory that does
  /// not fit, submitted twice.
  Status check(std::size_t place, const Submission& submission, std::uint32_t step, std::uint64_t call);
  /// Copies a member's elements, which the `call`-th submission has, into the group's memory if that is there; returns
  /// true if the group has all members of `step` then. The member's result goes where they were.
  Result<bool> gather(std::size_t place, const Submission& submission, std::uint32_t step, std::uint64_t call);
  /// Notes that a member has been submitted in `step`.
  void submitted(std::size_t place, std::uint32_t step);
  /// The number of members submitted in `step`.
  std::size_t submitted_in(std::uint32_t step) const { return steps_ == step + 1 ? submitted_ : 0; }
  /// The number of members that have been declared.
  std::size_t members() const { return declared_; }
  /// Returns true if all members have been submitted in `step`.
  bool is_whole(std::uint32_t step) const { return submitted_in(step) == declared_; }
  /// "`c`", or "`c` and 2 more": the members that are missing in `step`, also those that were never declared while the
  /// group may get them.
  std::string missing(std::uint32_t step) const;

  /// Returns true if the member has been submitted in `step` or later.
  bool knows(std::size_t place, std::uint32_t step) const { return places_[place].steps > step; }
  /// Returns true if the member's submission of `step` has its result, or a device copies it.
  bool is_handed_over(std::size_t place, std::uint32_t step) const {
    return places_[place].handed_over || places_[place].steps > step + 1;
  }
  /// Returns true if it has it.
  Result<bool> has_result(std::size_t place, std::uint32_t step) const;
  /// Copies the result to the member that was submitted last.
  Status hand_over(std::size_t place);
  /// The same for all; returns true if they have it.
  Result<bool> hand_over_all();
  /// The first member by name whose result is not finite; "": none is.
  Result<std::string> not_finite() const;

  /// InvalidArgument: the state has some member.
  Status check_none_in(const SessionState& state) const;
  /// Forgets all submissions.
  void forget();
  /// The submission of all members' elements.
  Submission submission() { return memory_->submission(*id_); }

 private:
  struct Place {
    GradientSpec spec;
    bool is_declared = false;
    Bytes offset = 0;
    std::uint32_t steps = 0;  ///< 1 + the step of the last submission; 0: none
    std::uint64_t call = 0;   ///< the submission that named it last, valid or not
    bool handed_over = true;
  };

  Device& device_;
  GradientGroup group_;
  std::vector<Place> places_;  ///< as the plan names them
  std::size_t declared_ = 0;
  std::optional<GradientId> id_;
  GradientSpec whole_;
  std::unique_ptr<GroupMemory> memory_;
  std::uint32_t steps_ = 0;  ///< 1 + the step that submitted_ is of
  std::size_t submitted_ = 0;
  std::uint64_t call_ = 0;  ///< the submission that joining_ is of
  std::size_t joining_ = 0;
};

}  // namespace casync::runtime
