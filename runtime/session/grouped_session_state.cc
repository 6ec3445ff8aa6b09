// SPDX-License-Identifier: Apache-2.0
//
// The state of a session with groups: the wrapped session's, by members.
#include "runtime/session/group_states.h"
#include "runtime/session/grouped_session.h"

namespace casync::runtime {

Result<SessionState> GroupedSession::state() const {
  if (forked()) return session_->state();
  std::lock_guard lock(lock_.mutex);
  CASYNC_RETURN_IF_ERROR(check_whole(": end the step, then take the state"));
  Result<SessionState> state = session_->state();
  if (!state) return state;
  for (const std::unique_ptr<SentGroup>& group : groups_) {
    if (group->id()) split_states(group->whole(), *state);
  }
  return state;
}

Status GroupedSession::load_state(const SessionState& state) {
  if (forked()) return session_->load_state(state);
  std::lock_guard one_at_a_time(submit_mutex_);
  std::lock_guard lock(lock_.mutex);
  CASYNC_RETURN_IF_ERROR(check_whole(": end the step, then load a state"));
  SessionState whole = state;
  for (const std::unique_ptr<SentGroup>& group : groups_) {
    if (group->members() == 0) {
      CASYNC_RETURN_IF_ERROR(group->check_none_in(state));
      continue;
    }
    if (!group->id()) CASYNC_RETURN_IF_ERROR(close_group(*group));
    CASYNC_RETURN_IF_ERROR(join_states(group->whole(), whole));
  }
  CASYNC_RETURN_IF_ERROR(session_->load_state(whole));
  for (const std::unique_ptr<SentGroup>& group : groups_) group->forget();
  submit_calls_ = 0;
  step_ = state.step;
  is_consensus_ = has_ended_ = false;
  return Status::ok();
}

}  // namespace casync::runtime
