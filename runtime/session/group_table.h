// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "runtime/device/device.h"
#include "runtime/session/sent_group.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// A gradient of a program whose plan has groups: one of the wrapped session's, or a member of a group.
struct GroupedGradient {
  std::optional<GradientId> own;
  SentGroup* group = nullptr;
  std::size_t place = 0;

  /// Returns true if the wrapped session has its submission of `step`.
  bool has_left(std::uint32_t step) const { return own || group->has_left(step); }
  /// The wrapped session's handle of a submission that has left.
  Handle inner(Handle handle) const;
};

/// The gradients of a session with groups, by GradientId, and the groups of its plan. Under the session's lock.
///
/// Errors, besides: as SentGroup, and as the wrapped session's declare().
class GroupTable {
 public:
  /// Remedy for a group that lacks members, for check_whole().
  static constexpr const char* kHowToGoOn = ": submit it, zeros if it is not used, or leave it out of the group";

  /// Borrows the session that is wrapped, which gets groups and the gradients of none, and its device.
  GroupTable(Session& session, Device& device, const std::vector<GradientGroup>& groups);

  const std::vector<std::unique_ptr<SentGroup>>& groups() const { return groups_; }
  /// Declares a gradient to its group or to the session. The last member of a group closes that. InvalidArgument: a
  /// group has its name.
  Result<GroupedGradient> declare(const GradientSpec& gradient);
  std::optional<GradientId> find(const std::string& name) const;
  /// Gives one that has been declared, and is not there, the next id.
  GradientId add(const std::string& name, const GroupedGradient& gradient);
  const GroupedGradient& at(GradientId id) const { return gradients_[static_cast<std::size_t>(id)]; }
  /// InvalidArgument: no submission gave the handle.
  Result<const GroupedGradient*> of(Handle handle) const;

  /// Begins a call that submits these. InvalidArgument: as Session::submit.
  Status check(std::span<const Submission> submissions, std::uint32_t step);
  /// Takes one of them, and returns what leaves for the wrapped session with it: itself, or the group that it
  /// completes.
  Result<std::optional<Submission>> take(const Submission& submission, std::uint32_t step);
  /// The wrapped session has refused a call, which was taken: nothing of it was submitted.
  void take_back(std::span<const Submission> submissions);
  /// Notes that a gradient has been submitted in `step`.
  void submitted(GradientId gradient, std::uint32_t step);
  /// Closes the groups that the submissions of `step` have left open, and puts those that are whole, and have not left,
  /// into `whole`. The first failure to close one; the others are there all the same.
  Status close_open(std::uint32_t step, std::vector<Submission>* whole);
  /// Closes all groups that have members, also those that nothing was submitted of. The first failure to close one.
  Status close_declared();
  /// The wrapped session has taken all that close_open() gave.
  void left(std::uint32_t step);
  /// InvalidArgument: some members of a group have been submitted in `step`, and the group has not left, as others have
  /// not been submitted or declared. `then` ends its text.
  Status check_whole(std::uint32_t step, const char* then) const;

  /// Names the member where a group is not finite.
  Status name_member(StepResult& result) const;
  /// Makes of a state of the wrapped session one of the program's gradients.
  void split(SessionState& state) const;
  /// The reverse. InvalidArgument: as join_states(), or has a member of a group of which none is declared.
  Result<SessionState> join(SessionState state) const;
  /// Closes the groups that a state has, which was loaded: it is theirs with the members that are there now.
  Status close_in(const SessionState& state);
  /// Forgets all submissions.
  void forget();
  /// Leaves the groups' memory to its users: the process that has the device, if this one is a forked child, or threads
  /// that have not ended.
  void leave_to_threads();

 private:
  Status close(SentGroup& group);

  Session& session_;
  std::vector<std::unique_ptr<SentGroup>> groups_;
  std::map<std::string, std::pair<SentGroup*, std::size_t>> place_of_;  ///< of each member that the plan names
  std::vector<GroupedGradient> gradients_;                              ///< by GradientId, the program's
  std::map<std::string, GradientId> ids_;
  std::uint64_t calls_ = 0;  ///< of check()
};

}  // namespace casync::runtime
