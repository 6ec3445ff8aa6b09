// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/session/run_record.h"
#include "runtime/session/sent_group.h"
#include "runtime/session/wrapping_session.h"

namespace casync::runtime {

/// A session whose plan has groups of gradients that are sent as one.
///
/// It wraps a session that knows a group as one gradient. The members' elements are copied into the group's memory as
/// they are submitted, the last one starts the group, and each member gets its part of the result when somebody looks
/// for it, at the latest in step(). States, reports and records have the members' names. On a device a stream of the
/// group's copies, behind what the program's streams write.
///
/// A group has the members that have been declared when all that the plan names are, or at the end of the submissions
/// of the first step in which one was submitted, whichever is first; later ones are refused.
class GroupedSession final : public WrappingSession {
 public:
  /// `device`, `plan`, `timeout_s` and `record_directory`: those that the session was opened with.
  GroupedSession(std::unique_ptr<Session> session, Device& device, const Plan& plan, double timeout_s,
                 const std::string& record_directory);
  ~GroupedSession() override;

  Status begin_consensus() override;
  void end_submissions() override;
  Result<GradientId> declare(const GradientSpec& gradient) override;
  Status submit(std::span<const Submission> submissions, std::span<Handle> handles) override;
  /// Timeout, besides: the group's other members have not all been submitted; names the first. InvalidArgument: and no
  /// more are, by end_submissions().
  Status wait(Handle handle, double timeout_s, Waiter waiter) override;
  bool done(Handle handle) const override;
  Status wait_any(std::span<const Handle> handles, const std::atomic<bool>& interrupted,
                  std::vector<Handle>* done) override;
  Status note_exposed(Handle handle, double seconds) override;
  /// InvalidArgument, besides: of a group only some members have been submitted; the step goes on.
  Result<StepResult> step() override;
  SessionStats stats() const override { return session_->stats(); }
  Result<SessionState> state() const override;
  Status load_state(const SessionState& state) override;
  void abort(const std::string& reason) override;
  Status close() override;

 private:
  static constexpr const char* kHowToGoOn = ": submit it, zeros if it is not used, or leave it out of the group";

  /// A gradient of the program: one of the session's own, or a member of a group.
  struct Gradient {
    std::optional<GradientId> own;
    SentGroup* group = nullptr;
    std::size_t place = 0;
  };

  // Under lock_.
  Result<GradientId> add(const GradientSpec& spec, const Gradient& gradient);
  Result<GradientId> declare_member(const GradientSpec& gradient, SentGroup& group, std::size_t place);
  Status close_group(SentGroup& group);
  Status check(std::span<const Submission> submissions);
  Result<const Gradient*> gradient_of(Handle handle) const;
  Handle inner_handle(const Gradient& gradient, Handle handle) const;
  Result<bool> hands_over(const Gradient& gradient, Handle handle) const;
  Status take_result(Handle handle, Clock::time_point deadline, std::unique_lock<std::mutex>& lock);
  Status hand_over_all(std::unique_lock<std::mutex>& lock);
  Status end_with(const Status& status);
  Status check_whole(const char* then) const;

  /// Closes the groups that a step's submissions have left open, and starts those that are whole. Under submit_mutex_.
  Status start_open_groups();
  Status wait_for(Handle handle, double timeout_s, Waiter waiter);
  /// Waits until the group has started. Timeout; the failure of the job.
  Status wait_until_whole(const Gradient& gradient, Handle handle, double timeout_s);

  const SyncMode mode_;
  const double timeout_s_;
  std::mutex submit_mutex_;  ///< one at a time submits, ends a step or loads a state
  // Guarded by lock_, which is taken after submit_mutex_. It is notified when a group starts and when step_ or
  // closed_ change.
  std::vector<std::unique_ptr<SentGroup>> groups_;
  std::map<std::string, std::pair<SentGroup*, std::size_t>> place_of_;  ///< of each member that the plan names
  std::vector<Gradient> gradients_;                                     ///< by GradientId, this session's
  std::map<std::string, GradientId> ids_;
  std::uint64_t submit_calls_ = 0;
  std::uint32_t step_ = 0;
  bool is_consensus_ = false;  ///< the step under way
  bool has_ended_ = false;     ///< its submissions, by end_submissions()
  bool closed_ = false;
  std::unique_ptr<RunRecord> record_;  ///< null: nothing is recorded here

  std::vector<Submission> starts_;  ///< of one submission; keeps its memory, as does:
  std::vector<Handle> started_;
};

}  // namespace casync::runtime
