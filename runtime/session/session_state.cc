// SPDX-License-Identifier: Apache-2.0
//
// A session's memory between steps: residuals, and the number of the step.
#include <algorithm>
#include <set>

#include "base/log.h"
#include "runtime/executor/answering.h"
#include "runtime/session/session_impl.h"

namespace casync::runtime {
namespace {

bool is_residual(const GradientRun& run) {
  return !run.rounds && run.gossip.empty() && run.kept_initial.size() <= 1 && run.kept_floats() <= run.elements &&
         std::all_of(run.kept_initial.begin(), run.kept_initial.end(), [](float value) { return value == 0; });
}

std::vector<GradientState::Range> owned_ranges(const GradientRun& run) {
  std::vector<GradientState::Range> ranges;
  if (run.rounds) return ranges;
  if (run.owner_side) {
    const Answering& answering = *run.owner_side->answering;
    answering.for_each_task([&](TaskId task) {
      const Slice slice = answering.slice_of(task);
      ranges.push_back({slice.first, slice.count});
    });
  }
  for (const Primitive& task : run.graph.tasks()) {
    const Merge* merge = std::get_if<Merge>(&task);
    if (merge == nullptr || !merge->last || run.codec_of(merge->to).info().states == 0) continue;
    const Slice slice = run.slice_of(merge->to);
    ranges.push_back({slice.first, slice.count});
  }
  return ranges;
}

}  // namespace

Result<SessionState> SessionImpl::state() const {
  CASYNC_RETURN_IF_ERROR(usable());
  std::lock_guard lock(mutex_);
  if (!parts_.executor->idle()) return invalid_argument("a step is under way: end it, then take the state");
  CASYNC_RETURN_IF_ERROR(check_together("take the state"));
  CASYNC_RETURN_IF_ERROR(check_committed());
  SessionState state;
  state.step = step_;
  state.ranks = parts_.launch.ranks;
  state.rank = parts_.launch.rank;
  for (const GradientRun* run : runs_) {
    if (run == nullptr) continue;
    GradientState one;
    one.codec = label_of(*run);
    CASYNC_RETURN_IF_ERROR(run->read_kept(*parts_.device, &one.residual));
    one.owned = owned_ranges(*run);
    one.is_residual = is_residual(*run);
    state.gradients.emplace(run->spec.name, std::move(one));
  }
  for (const auto& [name, one] : waiting_state_) state.gradients.emplace(name, one);
  return state;
}

/// Resets what a step that is not finite has changed in place: elements that are not finite are in it, and others lack
/// what was sent and not applied. Under mutex_.
Status SessionImpl::begin_anew() {
  std::size_t count = 0;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (submitted_[i].steps != step_ + 1 || !runs_[i]->keeps || !runs_[i]->has_one_buffer()) continue;
    if (runs_[i]->kept_floats() == 0) continue;
    CASYNC_RETURN_IF_ERROR(runs_[i]->reset_kept(*parts_.device));
    ++count;
  }
  if (count > 0) log().info("step {} was not finite: {} residuals in one buffer begin anew", step_, count);
  return Status::ok();
}

/// InvalidArgument: the step under way has changed a state in place. Under mutex_.
Status SessionImpl::check_committed() const {
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (submitted_[i].steps != step_ + 1 || runs_[i] == nullptr) continue;
    if (!runs_[i]->keeps || !runs_[i]->has_one_buffer() || runs_[i]->kept_floats() == 0) continue;
    return invalid_argument("gradient " + runs_[i]->spec.name + " keeps its residual in one buffer, which step " +
                            std::to_string(step_) + " has changed: " +
                            (parts_.executor->failing() ? "the step has failed, so go on from an earlier state"
                                                        : "end the step, then take the state"));
  }
  return Status::ok();
}

/// InvalidArgument: asynchronous ranks are in different steps, and sums belong to none. Under mutex_.
Status SessionImpl::check_together(const std::string& what) const {
  if (!parts_.plan.mode.is_asynchronous()) return Status::ok();
  const bool closed = std::all_of(runs_.begin(), runs_.end(), [](const GradientRun* run) {
    return run == nullptr || !run->owner_side || run->owner_side->answering->is_closed();
  });
  if (together_ && closed) return Status::ok();
  return invalid_argument("with `asynchronous` each rank is in its own step: end a consensus of all gradients " +
                          ("(begin_consensus), then " + what) + " before the next submission");
}

Status SessionImpl::load_state(const SessionState& state) {
  CASYNC_RETURN_IF_ERROR(usable());
  std::lock_guard lock(mutex_);
  if (!parts_.executor->idle()) return invalid_argument("a step is under way: end it, then load a state");
  CASYNC_RETURN_IF_ERROR(check_together("load a state"));
  if (state.ranks != parts_.launch.ranks || state.rank != parts_.launch.rank) {
    return invalid_argument("this is the state of rank " + std::to_string(state.rank) + " of " +
                            std::to_string(state.ranks) + ", here is rank " + std::to_string(parts_.launch.rank) +
                            " of " + std::to_string(parts_.launch.ranks) +
                            ": residuals belong to partitions, and those differ");
  }
  const auto of = [&](const GradientRun& run) {
    const auto found = state.gradients.find(run.spec.name);
    return found == state.gradients.end() ? nullptr : &found->second;
  };
  for (const GradientRun* run : runs_) {
    if (run == nullptr) continue;
    if (const GradientState* one = of(*run)) CASYNC_RETURN_IF_ERROR(check_state(*run, *one));
  }
  // Nothing is refused from here on.
  const std::uint32_t steps_before = step_ + (farewell().gradients.empty() ? 0 : 1);
  std::set<std::string> known;
  for (GradientRun* run : runs_) {
    if (run == nullptr) continue;
    CASYNC_RETURN_IF_ERROR(adopt_state(*run, of(*run), state.step));
    known.insert(run->spec.name);
  }
  waiting_state_.clear();
  for (const auto& [name, one] : state.gradients) {
    if (!known.contains(name)) waiting_state_.emplace(name, one);
  }
  std::fill(submitted_.begin(), submitted_.end(), Submitted{});
  submit_calls_ = 0;
  step_ = state.step;
  consensus_ = asked_ = false;
  together_ = true;
  late_names_.go_to(state.step);
  strangers_unsaid_ = true;
  loaded_ = true;
  comparisons_due_ = parts_.executor->comparisons() + 1;
  parts_.executor->want_comparison(steps_before);
  return Status::ok();
}

std::string SessionImpl::label_of(const GradientRun& run) const {
  return state_label(run.decision, parts_.topology) + (run.asynchronous ? ", asynchronous" : "");
}

Status SessionImpl::check_state(const GradientRun& run, const GradientState& state) const {
  const std::string label = label_of(run);
  if (state.codec != label) {
    return invalid_argument("gradient " + run.spec.name + ": the state is of " + state.codec + ", here it is " + label);
  }
  if (state.residual.size() == run.state_floats()) return Status::ok();
  return invalid_argument("gradient " + run.spec.name + ": a state of " + std::to_string(state.residual.size()) +
                          " elements, its codecs keep " + std::to_string(run.state_floats()));
}

/// `state`: null where the gradient was not there yet.
Status SessionImpl::adopt_state(GradientRun& run, const GradientState* state, std::uint32_t step) {
  run.set_step(step);
  return state == nullptr ? run.reset_kept(*parts_.device) : run.write_kept(*parts_.device, state->residual);
}

}  // namespace casync::runtime
