// SPDX-License-Identifier: Apache-2.0
//
// The comparison of all ranks before the first step of new gradients, and after a state was loaded.
#include <algorithm>

#include "base/log.h"
#include "casync/planner/decide.h"
#include "casync/strategies/owners.h"
#include "runtime/session/agreement.h"
#include "runtime/session/session_impl.h"

namespace casync::runtime {

Status SessionImpl::seal() {
  std::lock_guard sealing(seal_mutex_);
  std::vector<Declared> declared;
  std::size_t known = 0;
  Facts facts;
  {
    std::lock_guard lock(mutex_);
    if (sealed()) return Status::ok();  // by another thread
    declared = declared_;
    known = runs_.size();
    facts.emplace_back("step", std::to_string(step_));
    facts.emplace_back("a state that was loaded", loaded_ ? "one of step " + std::to_string(step_) : "none");
    loaded_ = false;
  }
  CASYNC_RETURN_IF_ERROR(compare(declared, std::move(facts)));
  executor_->end_comparison();
  return known < declared.size() ? add_runs(declared, known) : Status::ok();
}

Status SessionImpl::compare(const std::vector<Declared>& declared, Facts facts) {
  std::vector<const Declared*> by_name;
  by_name.reserve(declared.size());
  for (const Declared& one : declared) by_name.push_back(&one);
  std::sort(by_name.begin(), by_name.end(),
            [](const Declared* a, const Declared* b) { return a->spec.name < b->spec.name; });
  for (const Declared* one : by_name) {
    facts.emplace_back("gradient " + one->spec.name, text_of(one->spec, one->decision));
  }
  return agree(*group_, "gradients", facts, deadline());
}

Status SessionImpl::add_runs(std::span<const Declared> declared, std::size_t known) {
  if (launch_.rank == 0) {
    std::vector<GradientSpec> specs;
    for (const Declared& one : declared) specs.push_back(one.spec);
    for (const std::string& remark : remarks(plan_, specs, topology_)) log().warn("plan: {}", remark);
  }
  std::vector<OwnedGradient> owned;
  for (const Declared& one : declared) {
    owned.push_back({one.spec.name, one.spec.elements(), one.decision.partitions});
  }
  const std::vector<std::size_t> owners = first_owners(owned, topology_.ranks);
  std::vector<std::unique_ptr<GradientRun>> runs;
  std::vector<GradientRun*> borrowed;
  for (std::size_t i = known; i < declared.size(); ++i) {
    Result<std::unique_ptr<GradientRun>> run = make_run(declared[i], topology_, launch_.rank, owners[i]);
    if (!run) return run.status();
    CASYNC_RETURN_IF_ERROR((*run)->allocate_kept(*device_));
    borrowed.push_back(run->get());
    runs.push_back(std::move(*run));
  }
  {
    std::lock_guard lock(mutex_);
    for (GradientRun* run : borrowed) {
      const auto loaded = waiting_state_.find(run->spec.name);
      if (loaded == waiting_state_.end()) continue;
      CASYNC_RETURN_IF_ERROR(check_state(*run, loaded->second));
      adopt_state(*run, &loaded->second, step_);
      waiting_state_.erase(loaded);
    }
    warn_of_strangers();
  }
  CASYNC_RETURN_IF_ERROR(executor_->adopt(std::move(runs)));
  std::lock_guard lock(mutex_);
  runs_.insert(runs_.end(), borrowed.begin(), borrowed.end());
  starts_.reserve(runs_.size());
  return Status::ok();
}

/// Once for each state that was loaded.
void SessionImpl::warn_of_strangers() {
  if (waiting_state_.empty() || !strangers_unsaid_) return;
  strangers_unsaid_ = false;
  log().warn(
      "the state that was loaded has {} gradients that are not declared here, the first is {}: their residuals "
      "wait, and are saved again",
      waiting_state_.size(), waiting_state_.begin()->first);
}

}  // namespace casync::runtime
