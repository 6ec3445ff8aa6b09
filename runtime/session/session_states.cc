// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/session_states.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/log.h"
#include "runtime/executor/answering.h"
#include "runtime/executor/run_states.h"
#include "runtime/session/agreement.h"
#include "runtime/session/declarations.h"
#include "runtime/session/kept_roles.h"

namespace casync::runtime {
namespace {

/// Returns true if the step under way changes the residual that the last one left. Gossip's copies are none: a step
/// that is not finite harms no copy.
bool changes_in_place(const GradientRun& run) {
  return run.step.keeps() && run.kept.memory() == ResidualMemory::kOneBuffer && run.kept.floats() > 0;
}

/// Null: it has none of this gradient.
const GradientState* state_of(const GradientRun& run, const SessionState& state) {
  const auto found = state.gradients.find(run.spec.name);
  return found == state.gradients.end() ? nullptr : &found->second;
}

}  // namespace

Result<SessionState> SessionStates::take() const {
  if (!parts_.executor->waits().idle()) return invalid_argument("a step is under way: end it, then take the state");
  CASYNC_RETURN_IF_ERROR(check_together("take the state"));
  CASYNC_RETURN_IF_ERROR(check_committed());
  SessionState state;
  state.step = tables_.step.number();
  state.ranks = parts_.launch.ranks;
  state.rank = parts_.launch.rank;
  for (const GradientRun* run : tables_.gradients.runs()) {
    if (run == nullptr) continue;
    GradientState one;
    one.codec = label_of(*run);
    CASYNC_RETURN_IF_ERROR(read_kept(*run, *parts_.device, &one.residual));
    KeptRoles roles = roles_of(*run);
    one.owned = std::move(roles.owned);
    one.sent = std::move(roles.sent);
    one.op = name_of(parts_.options.op);
    one.is_residual = keeps_residual_alone(*run);
    state.gradients.emplace(run->spec.name, std::move(one));
  }
  for (const auto& [name, one] : waiting_) state.gradients.emplace(name, one);
  return state;
}

Status SessionStates::commit(bool finite) {
  // An owner has added what this rank's code says, whatever the answer is.
  const bool counts = finite || parts_.plan.mode.is_asynchronous();
  if (!counts) return begin_anew();
  for (std::size_t i = 0; i < tables_.gradients.size(); ++i) {
    if (!tables_.submissions.in_step(i)) continue;
    GradientRun& run = *tables_.gradients.run(i);
    if (run.step.keeps()) run.kept.commit();
  }
  return Status::ok();
}

/// Resets what a step that is not finite has changed in place: elements that are not finite are in it, and others lack
/// what was sent and not applied.
Status SessionStates::begin_anew() {
  std::size_t count = 0;
  for (std::size_t i = 0; i < tables_.gradients.size(); ++i) {
    if (!tables_.submissions.in_step(i)) continue;
    GradientRun& run = *tables_.gradients.run(i);
    if (!changes_in_place(run)) continue;
    CASYNC_RETURN_IF_ERROR(reset_kept(run, *parts_.device));
    ++count;
  }
  if (count == 0) return Status::ok();
  log().info("step {} was not finite: {} residuals in one buffer begin anew", tables_.step.number(), count);
  return Status::ok();
}

/// InvalidArgument: the step under way has changed a state in place, and perhaps not on all ranks.
Status SessionStates::check_committed() const {
  const bool changes_copies = tables_.step.exchanged() == Exchanged::kParameters;
  for (std::size_t i = 0; i < tables_.gradients.size(); ++i) {
    const GradientRun* const run = tables_.gradients.run(i);
    if (!tables_.submissions.in_step(i) || run == nullptr) continue;
    const bool copies = changes_copies && run->kept.is_in_place();
    if (!copies && !changes_in_place(*run)) continue;
    return invalid_argument(
        "gradient " + run->spec.name + " keeps " + (copies ? "copies of parameters" : "its residual in one buffer") +
        ", which step " + std::to_string(tables_.step.number()) + " has changed: " +
        (parts_.executor->failures().failing() ? "the step has failed, so go on from an earlier state"
                                               : "end the step, then take the state"));
  }
  return Status::ok();
}

/// InvalidArgument: asynchronous ranks are in different steps, and sums belong to none.
Status SessionStates::check_together(const std::string& what) const {
  if (!parts_.plan.mode.is_asynchronous()) return Status::ok();
  const std::span<GradientRun* const> runs = tables_.gradients.runs();
  const bool closed = std::all_of(runs.begin(), runs.end(), [](const GradientRun* run) {
    return run == nullptr || !run->owner_side() || run->owner_side()->answering->is_closed();
  });
  if (tables_.step.is_together() && closed) return Status::ok();
  return invalid_argument("with `asynchronous` each rank is in its own step: end a consensus of all gradients " +
                          ("(begin_consensus), then " + what) + " ahead of the next submission");
}

Status SessionStates::check(const SessionState& state) const {
  if (!parts_.executor->waits().idle()) return invalid_argument("a step is under way: end it, then load a state");
  CASYNC_RETURN_IF_ERROR(check_together("load a state"));
  if (state.step == std::numeric_limits<std::uint32_t>::max()) {
    return invalid_argument("the state is of step " + std::to_string(state.step) +
                            ", which has no next one: this state is damaged");
  }
  const Launch& here = parts_.launch;
  if (state.ranks != here.ranks || state.rank != here.rank) {
    return invalid_argument("this is the state of rank " + std::to_string(state.rank) + " of " +
                            std::to_string(state.ranks) + ", here is rank " + std::to_string(here.rank) + " of " +
                            std::to_string(here.ranks) + ": residuals belong to partitions, and those differ");
  }
  for (const GradientRun* run : tables_.gradients.runs()) {
    if (run == nullptr) continue;
    if (const GradientState* one = state_of(*run, state)) CASYNC_RETURN_IF_ERROR(check(*run, *one));
  }
  return Status::ok();
}

Status SessionStates::adopt(const SessionState& state) {
  std::set<std::string> known;
  for (GradientRun* run : tables_.gradients.runs()) {
    if (run == nullptr) continue;
    CASYNC_RETURN_IF_ERROR(adopt(*run, state_of(*run, state), state.step));
    known.insert(run->spec.name);
  }
  waiting_.clear();
  for (const auto& [name, one] : state.gradients) {
    if (!known.contains(name)) waiting_.emplace(name, one);
  }
  strangers_unsaid_ = true;
  return Status::ok();
}

Status SessionStates::adopt_waiting(GradientRun& run) {
  const auto loaded = waiting_.find(run.spec.name);
  if (loaded == waiting_.end()) return Status::ok();
  CASYNC_RETURN_IF_ERROR(check(run, loaded->second));
  CASYNC_RETURN_IF_ERROR(adopt(run, &loaded->second, tables_.step.number()));
  waiting_.erase(loaded);
  return Status::ok();
}

void SessionStates::warn_of_strangers() {
  if (waiting_.empty() || !strangers_unsaid_) return;
  strangers_unsaid_ = false;
  log().warn(
      "the state that was loaded has {} gradients that are not declared here, the first is {}: their residuals "
      "wait, and are saved again",
      waiting_.size(), waiting_.begin()->first);
}

std::string SessionStates::label_of(const GradientRun& run) const {
  // A scattered gradient's is that of each element, whoever owns it: another number of ranks may go on with it.
  if (run.spec.scattered) return identity_of(run.decision.codec) + ", scattered";
  return state_label(run.decision, parts_.topology) + (run.asynchronous ? ", asynchronous" : "");
}

Status SessionStates::check(const GradientRun& run, const GradientState& state) const {
  const std::string label = label_of(run);
  if (state.codec != label) {
    return invalid_argument("gradient " + run.spec.name + ": the state is of " + state.codec + ", here it is " + label);
  }
  if (state.residual.size() != state_floats(run)) {
    return invalid_argument("gradient " + run.spec.name + ": a state of " + std::to_string(state.residual.size()) +
                            " elements, its codecs keep " + std::to_string(state_floats(run)));
  }
  return check_roles(run, state, parts_.options.op, parts_.topology.ranks);
}

/// `state`: null where the gradient was not there yet.
Status SessionStates::adopt(GradientRun& run, const GradientState* state, std::uint32_t step) {
  run.go_to(step);
  if (state == nullptr) return reset_kept(run, *parts_.device);
  if (!has_other_roles(run, *state)) return write_kept(run, *parts_.device, state->residual);
  return write_kept(run, *parts_.device, in_roles_of(run, *state, parts_.options.op, parts_.topology.ranks));
}

}  // namespace casync::runtime
