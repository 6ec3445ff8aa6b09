// SPDX-License-Identifier: Apache-2.0
//
// Facts that ranks compare: steps before the first submission and after a state was loaded, and gradients by name.
#include <algorithm>

#include "base/log.h"
#include "casync/planner/decide.h"
#include "runtime/session/agreement.h"
#include "runtime/session/session_impl.h"

namespace casync::runtime {
namespace {

constexpr std::string_view kGradient = "gradient ";

}  // namespace

std::string claim_name(const GradientSpec& gradient) { return std::string(kGradient) + gradient.name; }

Status SessionImpl::compare_steps() {
  std::lock_guard comparing(comparison_mutex_);
  Claim claim;
  {
    std::lock_guard lock(mutex_);
    if (steps_compared()) return Status::ok();  // by another thread
    claim.name = "comparison " + std::to_string(parts_.executor->comparisons() + 1) + " of steps";
    claim.facts.emplace_back("step", std::to_string(step_));
    claim.facts.emplace_back("a state that was loaded", loaded_ ? "one of step " + std::to_string(step_) : "none");
    loaded_ = false;
  }
  CASYNC_RETURN_IF_ERROR(parts_.group->agree(std::move(claim), parts_.deadline()));
  parts_.executor->end_comparison();
  return Status::ok();
}

/// Claims all new declarations together, so that ranks which declare alike agree in turn. Under mutex_.
void SessionImpl::claim_declared() {
  if (claimed_ == declared_.size()) return;
  std::vector<Claim> claims;
  for (; claimed_ < declared_.size(); ++claimed_) {
    const Declared& declared = declared_[claimed_];
    const std::string name = claim_name(declared.spec);
    claims.push_back({name, {{name, declared.text}}});
    late_names_.claimed(name);
  }
  parts_.group->claim(std::move(claims));
  if (parts_.launch.rank != 0) return;
  for (const std::string& remark : remarks(parts_.plan, declared_specs(), parts_.topology))
    log().warn("plan: {}", remark);
}

/// Makes the runs of gradients that all ranks have declared. On the progress thread.
Status SessionImpl::open_gradients(const Agreement& agreement) {
  std::vector<std::size_t> ids;
  std::vector<Declared> declared;
  {
    std::lock_guard lock(mutex_);
    for (const std::string& name : agreement.names) {
      if (!name.starts_with(kGradient)) continue;
      ids.push_back(static_cast<std::size_t>(ids_.at(name.substr(kGradient.size()))));
      declared.push_back(declared_[ids.back()]);
    }
  }
  const std::vector<std::size_t> owners = owners_of(declared, agreement.in_turn);
  std::vector<std::unique_ptr<GradientRun>> runs;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    Result<std::unique_ptr<GradientRun>> run = make_run(declared[i], parts_.topology, parts_.launch.rank, owners[i]);
    if (!run) return run.status();
    runs.push_back(std::move(*run));
  }
  CASYNC_RETURN_IF_ERROR(allocate_kept(runs, *parts_.device));
  return take_in(ids, std::move(runs));
}

/// The same on every rank. Agreements in turn balance the load. Others come in an order that depends on time, so that
/// only the gradient itself may decide.
std::vector<std::size_t> SessionImpl::owners_of(std::span<const Declared> declared, bool in_turn) {
  std::vector<OwnedGradient> owned;
  std::vector<std::size_t> by_key;
  for (const Declared& one : declared) {
    const Servers& servers = one.decision.servers;
    owned.push_back({one.spec.name, one.spec.elements(), one.decision.partitions, servers.count});
    const auto owners = static_cast<std::uint64_t>(owner_count(servers, parts_.topology.ranks));
    by_key.push_back(static_cast<std::size_t>(one.key % owners));
  }
  return in_turn ? owners_->assign(owned) : by_key;
}

Status SessionImpl::take_in(std::span<const std::size_t> ids, std::vector<std::unique_ptr<GradientRun>> runs) {
  std::vector<GradientRun*> borrowed;
  for (const std::unique_ptr<GradientRun>& run : runs) borrowed.push_back(run.get());
  std::lock_guard lock(mutex_);
  for (GradientRun* run : borrowed) {
    const auto loaded = waiting_state_.find(run->spec.name);
    if (loaded == waiting_state_.end()) continue;
    CASYNC_RETURN_IF_ERROR(check_state(*run, loaded->second));
    CASYNC_RETURN_IF_ERROR(adopt_state(*run, &loaded->second, step_));
    waiting_state_.erase(loaded);
  }
  CASYNC_RETURN_IF_ERROR(parts_.executor->take_in(std::move(runs)));
  if (parts_.pinned != nullptr) {
    log().info("{}: {} bytes of pinned memory are taken for messages, at most {} may be", parts_.pinned->name(),
               parts_.pinned->pinned(), parts_.pinned->most_pinned());
  }
  for (std::size_t i = 0; i < ids.size(); ++i) runs_[ids[i]] = borrowed[i];
  starts_.reserve(runs_.size());
  start_held();
  openings_.fetch_add(1);
  return Status::ok();
}

/// Under mutex_.
void SessionImpl::start_held() {
  std::vector<Executor::Start> starts;
  std::erase_if(held_, [&](const Held& held) {
    GradientRun* const run = runs_[held.gradient];
    if (run != nullptr) starts.push_back(start_of(run, held.step, held.submission));
    return run != nullptr;
  });
  parts_.executor->start_held(starts);
}

/// Waits until `is_open`, asked under mutex_, says so. Timeout; else the failure of the job.
Status SessionImpl::wait_until_open(const std::function<bool()>& is_open, Clock::time_point deadline) {
  while (true) {
    const std::uint64_t seen = openings_.load();
    {
      std::lock_guard lock(mutex_);
      if (is_open()) return Status::ok();
    }
    CASYNC_RETURN_IF_ERROR(parts_.executor->wait_until([&] { return openings_.load() != seen; }, deadline));
  }
}

/// Tells rank 0 for which gradients this rank waits, and which it does not have although others wait.
void SessionImpl::end_submissions() {
  std::vector<std::string> waits_for;
  std::uint32_t step = 0;
  {
    std::lock_guard lock(mutex_);
    claim_declared();
    step = step_;
    for (const Held& held : held_) waits_for.push_back(claim_name(declared_[held.gradient].spec));
  }
  for (const std::string& name : late_names_.end(step)) parts_.group->lack(name);
  if (!waits_for.empty()) parts_.group->need(std::move(waits_for), step);
}

/// Waits until every rank has declared what this one has submitted.
Status SessionImpl::wait_for_held(Clock::time_point deadline) {
  const Status status = wait_until_open([this] { return held_.empty(); }, deadline);
  if (status.code() != StatusCode::kTimeout) return status;
  std::string name;
  {
    std::lock_guard lock(mutex_);
    if (held_.empty()) return Status::ok();
    name = claim_name(declared_[held_.front().gradient].spec);
  }
  parts_.group->give_up(name);
  return timeout_error(name + ": not every rank has declared it");
}

/// The same for one gradient; `last`: when waiting for it ends the job.
Result<GradientRun*> SessionImpl::wait_for_run(Handle handle, Clock::time_point deadline, Clock::time_point last) {
  const std::uint32_t index = index_of(handle);
  std::string name;
  {
    std::lock_guard lock(mutex_);
    if (runs_[index] != nullptr) return runs_[index];
    name = claim_name(declared_[index].spec);
  }
  parts_.group->need({name}, step_of(handle));
  const Status status = wait_until_open([&] { return runs_[index] != nullptr; }, deadline);
  if (status.code() == StatusCode::kTimeout && !parts_.executor->failing()) {
    const Status late = timeout_error(name + ": not every rank has declared it");
    if (Clock::now() < last) return late;
    parts_.group->give_up(name);
    return job_end_.end_with(late);
  }
  if (!status) return status;
  std::lock_guard lock(mutex_);
  return runs_[index];
}

/// Warns once for each state that was loaded, after a step has used the declared gradients.
void SessionImpl::warn_of_strangers() {
  if (waiting_state_.empty() || !strangers_unsaid_) return;
  strangers_unsaid_ = false;
  log().warn(
      "the state that was loaded has {} gradients that are not declared here, the first is {}: their residuals "
      "wait, and are saved again",
      waiting_state_.size(), waiting_state_.begin()->first);
}

}  // namespace casync::runtime
