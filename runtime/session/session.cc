// SPDX-License-Identifier: Apache-2.0
//
// A session's steps: declare, submit, wait, commit, close.
#include "runtime/session/session.h"

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "casync/planner/decide.h"
#include "runtime/session/agreement.h"
#include "runtime/session/session_impl.h"

namespace casync::runtime {
namespace {

constexpr Seconds kGoodbye{5};  // what close() gives the other ranks

Handle handle_of(std::uint32_t step, GradientId id) {
  return Handle(std::uint64_t{step} << 32 | static_cast<std::uint32_t>(id));
}
std::uint32_t step_of(Handle handle) { return static_cast<std::uint32_t>(static_cast<std::uint64_t>(handle) >> 32); }
std::uint32_t index_of(Handle handle) { return static_cast<std::uint32_t>(static_cast<std::uint64_t>(handle)); }

}  // namespace

SessionImpl::~SessionImpl() {
  if (executor_) static_cast<void>(close());
}

Result<GradientId> SessionImpl::declare(const GradientSpec& gradient) {
  Result<Declared> declared = declare_gradient(plan_, gradient, launch_.ranks);
  if (!declared) return declared.status();
  std::lock_guard lock(mutex_);
  const auto known = ids_.find(gradient.name);
  if (known != ids_.end()) {
    const Declared& before = declared_[static_cast<std::size_t>(known->second)];
    const std::string was = text_of(before.spec, before.decision), is = text_of(declared->spec, declared->decision);
    if (was == is) return known->second;
    return invalid_argument("gradient " + gradient.name + " was declared as " + was + ", and now as " + is);
  }
  for (const Declared& other : declared_) {
    if (other.key == declared->key) {
      return invalid_argument("gradients " + other.spec.name + " and " + gradient.name +
                              " have the same 64-bit hash: rename one");
    }
  }
  const auto id = GradientId(static_cast<std::uint32_t>(declared_.size()));
  ids_.emplace(gradient.name, id);
  declared_.push_back(std::move(*declared));
  submitted_.push_back(0);
  return id;
}

Status SessionImpl::seal() {
  std::lock_guard sealing(seal_mutex_);
  std::vector<Declared> declared;
  std::size_t sealed = 0;
  Facts facts;
  {
    std::lock_guard lock(mutex_);
    if (runs_.size() == declared_.size()) return Status::ok();
    declared = declared_;
    sealed = runs_.size();
    facts.emplace_back("step", std::to_string(step_));
  }
  std::vector<std::size_t> by_name(declared.size());
  for (std::size_t i = 0; i < by_name.size(); ++i) by_name[i] = i;
  std::sort(by_name.begin(), by_name.end(),
            [&](std::size_t a, std::size_t b) { return declared[a].spec.name < declared[b].spec.name; });
  std::vector<std::size_t> position(declared.size());
  for (std::size_t i = 0; i < by_name.size(); ++i) {
    const Declared& one = declared[by_name[i]];
    position[by_name[i]] = i;
    facts.emplace_back("gradient " + one.spec.name, text_of(one.spec, one.decision));
  }
  CASYNC_RETURN_IF_ERROR(agree(*group_, "gradients", facts, deadline()));

  std::vector<GradientSpec> specs;
  for (const Declared& one : declared) specs.push_back(one.spec);
  if (launch_.rank == 0) {
    for (const std::string& remark : remarks(plan_, specs, launch_.ranks)) log().warn("plan: {}", remark);
  }
  std::vector<std::unique_ptr<GradientRun>> runs;
  std::vector<GradientRun*> borrowed;
  for (std::size_t i = sealed; i < declared.size(); ++i) {
    Result<std::unique_ptr<GradientRun>> run = make_run(declared[i], launch_.ranks, launch_.rank, position[i]);
    if (!run) return run.status();
    (*run)->index = static_cast<std::uint32_t>(i);
    CASYNC_RETURN_IF_ERROR((*run)->allocate_residuals(*device_));
    borrowed.push_back(run->get());
    runs.push_back(std::move(*run));
  }
  CASYNC_RETURN_IF_ERROR(executor_->adopt(std::move(runs)));
  std::lock_guard lock(mutex_);
  runs_.insert(runs_.end(), borrowed.begin(), borrowed.end());
  for (GradientRun* run : borrowed) {
    const auto loaded = waiting_state_.find(run->spec.name);
    if (loaded == waiting_state_.end()) continue;
    CASYNC_RETURN_IF_ERROR(load_one(loaded->first, loaded->second));
    waiting_state_.erase(loaded);
  }
  return Status::ok();
}

Status SessionImpl::check(std::span<const Submission> submissions) const {
  for (const Submission& one : submissions) {
    const std::size_t index = static_cast<std::size_t>(one.gradient);
    if (index >= declared_.size()) return invalid_argument("no gradient has the id " + std::to_string(index));
    const GradientSpec& spec = declared_[index].spec;
    if (one.data.size != spec.bytes()) {
      return invalid_argument("gradient " + spec.name + ": " + std::to_string(one.data.size) +
                              " bytes, declared with " + std::to_string(spec.bytes()));
    }
    if (one.data.size > 0 && one.data.data == nullptr) return invalid_argument("gradient " + spec.name + ": no memory");
    if (reinterpret_cast<std::uintptr_t>(one.data.data) % bytes_of(spec.dtype) != 0) {
      return invalid_argument("gradient " + spec.name + ": its memory is not aligned to its elements");
    }
    if (submitted_[index] == step_ + 1) {
      return invalid_argument("gradient " + spec.name + " was submitted twice in step " + std::to_string(step_) +
                              ": end the step first");
    }
    for (const Submission* other = submissions.data(); other != &one; ++other) {
      if (other->gradient == one.gradient) {
        return invalid_argument("gradient " + spec.name + " is twice in one submission");
      }
    }
  }
  return Status::ok();
}

Result<std::vector<Handle>> SessionImpl::submit(std::span<const Submission> submissions) {
  CASYNC_RETURN_IF_ERROR(check_peers());
  bool sealed = true;
  {
    std::lock_guard lock(mutex_);
    if (closed_) return aborted("the session is closed");
    CASYNC_RETURN_IF_ERROR(check(submissions));
    sealed = runs_.size() == declared_.size();
  }
  if (!sealed) {
    if (Status status = seal(); !status) return end_with(std::move(status));
  }
  std::vector<Handle> handles;
  handles.reserve(submissions.size());
  std::vector<Executor::Start> starts;
  starts.reserve(submissions.size());
  {
    std::lock_guard lock(mutex_);
    CASYNC_RETURN_IF_ERROR(check(submissions));  // another thread may have submitted while this one compared
    for (const Submission& one : submissions) {
      const std::size_t index = static_cast<std::size_t>(one.gradient);
      submitted_[index] = step_ + 1;
      handles.push_back(handle_of(step_, one.gradient));
      starts.push_back({runs_[index], step_, one.data});
    }
  }
  executor_->submit(starts);
  return handles;
}

bool SessionImpl::done(Handle handle) const {
  std::lock_guard lock(mutex_);
  const std::uint32_t index = index_of(handle);
  return index < runs_.size() && runs_[index]->completed.load(std::memory_order_acquire) > step_of(handle);
}

Status SessionImpl::wait(Handle handle, double timeout_s) {
  GradientRun* run = nullptr;
  {
    std::lock_guard lock(mutex_);
    const std::uint32_t index = index_of(handle);
    if (index >= runs_.size() || submitted_[index] <= step_of(handle)) {
      return invalid_argument("a handle that no submission gave");
    }
    run = runs_[index];
  }
  const bool session_timeout = timeout_s < 0 || timeout_s >= options_.timeout_s;
  const Status status =
      executor_->wait(*run, step_of(handle), after(Seconds(session_timeout ? options_.timeout_s : timeout_s)));
  if (status.code() == StatusCode::kTimeout && session_timeout) return end_with(status);
  return status;
}

Result<StepResult> SessionImpl::step() {
  if (Status status = executor_->failure(); !status) return status;
  GradientRun* last = nullptr;
  {
    std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (submitted_[i] == step_ + 1 && runs_[i]->completed.load() <= step_) last = runs_[i];
    }
  }
  const Clock::time_point until = deadline();
  // Waiting for one gradient first, because its Timeout says what is missing.
  if (last != nullptr) {
    if (Status status = executor_->wait(*last, step_, until); !status) return end_with(std::move(status));
  }
  if (Status status = executor_->wait_all(until); !status) return end_with(std::move(status));
  return commit();
}

StepResult SessionImpl::commit() {
  std::lock_guard lock(mutex_);
  StepResult result;
  result.step = step_;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (submitted_[i] != step_ + 1 || runs_[i]->finite) continue;
    const std::string& name = runs_[i]->spec.name;
    if (result.finite || name < result.first_non_finite) result.first_non_finite = name;
    result.finite = false;
  }
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (result.finite && submitted_[i] == step_ + 1) runs_[i]->committed = 1 - runs_[i]->committed;
  }
  if (timeline_) {
    timeline_->record({SpanKind::kStep, nullptr, {}, step_, -1, 0, 0, step_begun_, Clock::now()});
  }
  if (step_ == 0) first_step_allocations_.store(executor_->counters().allocations.load());
  step_begun_ = Clock::now();
  ++step_;
  return result;
}

Status SessionImpl::end_with(Status cause) {
  const Status before = executor_->failure();
  if (!before.is_ok()) return before;  // somebody's failure explains this one
  group_->abort(cause);
  executor_->fail(cause);
  return cause;
}

std::string SessionImpl::named(Rank peer) const {
  return "rank " + std::to_string(peer) + " (" + group_->host_of(peer) + ", pid " +
         std::to_string(group_->pid_of(peer)) + ")";
}

void SessionImpl::peer_broke(Rank peer, const Status& status) {
  const Status why = peer_failure(named(peer) + ": " + status.message());
  if (!note_gone(why)) return;
  // Idle, it may have left after its last step, as this rank will; whoever submits again learns of it.
  if (!executor_->idle()) group_->abort(why);
}

void SessionImpl::peer_left(Rank peer) {
  const Status why = peer_failure(named(peer) + " left the job: its session was closed");
  if (note_gone(why)) executor_->peer_left(peer, why);
}

bool SessionImpl::note_gone(const Status& why) {
  std::lock_guard lock(mutex_);
  if (closed_) return false;
  if (gone_.is_ok()) gone_ = why;  // the first explains the others
  return true;
}

Status SessionImpl::check_peers() const {
  if (Status status = executor_->failure(); !status) return status;
  std::lock_guard lock(mutex_);
  return gone_;
}

void SessionImpl::abort(const std::string& reason) {
  const Status cause = peer_failure("rank " + std::to_string(launch_.rank) + " aborted the job: " + reason);
  group_->abort(cause);
  executor_->fail(cause);
}

Status SessionImpl::close() {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return Status::ok();
    closed_ = true;
  }
  const bool healthy = executor_->failure().is_ok();
  const Status status = healthy ? group_->close(after(kGoodbye)) : Status::ok();
  executor_->stop(after(Seconds(healthy ? 1.0 : 0.1)));
  if (timeline_) write_trace();
  return status;
}

}  // namespace casync::runtime
