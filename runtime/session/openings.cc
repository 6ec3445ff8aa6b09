// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/openings.h"

#include <mutex>
#include <utility>

#include "base/log.h"
#include "casync/planner/decide.h"
#include "runtime/executor/run_states.h"
#include "runtime/session/handles.h"

namespace casync::runtime {

void Openings::claim() {
  if (!tables_.gradients.has_news()) return;
  std::vector<Claim> claims = tables_.gradients.take_claims();
  for (const Claim& claim : claims) late_names_.claimed(claim.name);
  parts_.group->claim(std::move(claims));
  if (parts_.launch.rank != 0) return;
  for (const std::string& remark : remarks(parts_.plan, tables_.gradients.specs(), parts_.topology)) {
    log().warn("plan: {}", remark);
  }
}

void Openings::end_submissions() {
  std::vector<std::string> waits_for, late;
  std::uint32_t step = 0;
  {
    std::lock_guard lock(tables_.mutex);
    claim();
    step = tables_.step.number();
    late = late_names_.end(step);  // here, or another thread might load a state in between
    for (const StepStarts::Held& held : starts_.held()) {
      waits_for.push_back(tables_.gradients.claim_name(held.gradient));
    }
  }
  for (const std::string& name : late) parts_.group->lack(name);
  if (!waits_for.empty()) parts_.group->need(std::move(waits_for), step);
}

/// The group's thread must not wait: the progress thread does the work.
void Openings::agreed(const Agreement& agreement) {
  parts_.executor->call([this, agreement] {
    if (const Status status = open(agreement); !status) job_end_.end_here(status);
  });
}

void Openings::needed(const std::string& name, std::uint32_t step) {
  if (late_names_.needed(name, step)) parts_.group->lack(name);
}

void Openings::ask_who_is_late() {
  std::string name;
  {
    std::lock_guard lock(tables_.mutex);
    if (starts_.held().empty()) return;
    name = tables_.gradients.claim_name(starts_.held().front().gradient);
  }
  parts_.group->ask_who_is_late(name);
}

/// Makes the runs of gradients that all ranks have declared. On the progress thread.
Status Openings::open(const Agreement& agreement) {
  std::vector<std::size_t> ids;
  std::vector<Declared> declared;
  {
    std::lock_guard lock(tables_.mutex);
    for (const std::string& name : agreement.names) {
      const std::optional<std::size_t> id = tables_.gradients.claimed(name);
      if (!id) continue;
      ids.push_back(*id);
      declared.push_back(tables_.gradients.declared(*id));
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
std::vector<std::size_t> Openings::owners_of(std::span<const Declared> declared, bool in_turn) {
  std::vector<OwnedGradient> owned;
  std::vector<std::size_t> by_key;
  for (const Declared& one : declared) {
    const Servers& servers = one.decision.servers;
    owned.push_back({one.spec.name, one.spec.elements(), one.decision.partitions, servers.count});
    const auto owners = static_cast<std::uint64_t>(owner_count(servers, parts_.topology.ranks));
    by_key.push_back(static_cast<std::size_t>(one.key % owners));
  }
  if (!in_turn) return by_key;
  if (!owners_) owners_.emplace(parts_.topology);
  return owners_->assign(owned);
}

Status Openings::take_in(std::span<const std::size_t> ids, std::vector<std::unique_ptr<GradientRun>> runs) {
  std::vector<GradientRun*> borrowed;
  borrowed.reserve(runs.size());
  for (const std::unique_ptr<GradientRun>& run : runs) borrowed.push_back(run.get());
  std::lock_guard lock(tables_.mutex);
  for (GradientRun* run : borrowed) CASYNC_RETURN_IF_ERROR(states_.adopt_waiting(*run));
  CASYNC_RETURN_IF_ERROR(parts_.executor->take_in(std::move(runs)));
  if (const PinnedBound* const pinned = parts_.pinned; pinned != nullptr) {
    log().info("{}: {} bytes of pinned memory are taken for messages, at most {} may be", pinned->name(),
               pinned->pinned(), pinned->most_pinned());
  }
  for (std::size_t i = 0; i < ids.size(); ++i) tables_.gradients.open(ids[i], borrowed[i]);
  starts_.reserve();
  starts_.start_held();
  count_.fetch_add(1);
  return Status::ok();
}

/// Waits until `is_open`, asked under the session's mutex, says so. Timeout; else the failure of the job.
Status Openings::wait_until(const std::function<bool()>& is_open, Clock::time_point deadline) const {
  while (true) {
    const std::uint64_t seen = count();
    {
      std::lock_guard lock(tables_.mutex);
      if (is_open()) return Status::ok();
    }
    CASYNC_RETURN_IF_ERROR(parts_.executor->waits().wait_until([&] { return count() != seen; }, deadline));
  }
}

Status Openings::wait_for_held(Clock::time_point deadline) {
  Status status = wait_until([this] { return starts_.held().empty(); }, deadline);
  if (status.code() != StatusCode::kTimeout) return status;
  std::string name;
  {
    std::lock_guard lock(tables_.mutex);
    if (starts_.held().empty()) return Status::ok();
    name = tables_.gradients.claim_name(starts_.held().front().gradient);
  }
  parts_.group->give_up(name);
  return timeout_error(name + ": not every rank has declared it");
}

Result<GradientRun*> Openings::wait_for_run(Handle handle, Clock::time_point deadline, Clock::time_point last) {
  const std::uint32_t index = index_of(handle);
  const GradientTable& gradients = tables_.gradients;
  std::string name;
  {
    std::lock_guard lock(tables_.mutex);
    if (gradients.run(index) != nullptr) return gradients.run(index);
    name = gradients.claim_name(index);
  }
  parts_.group->need({name}, step_of(handle));
  const Status status = wait_until([&] { return gradients.run(index) != nullptr; }, deadline);
  if (status.code() == StatusCode::kTimeout) {
    if (parts_.executor->failures().failing()) return job_end_.failure();  // which came at the deadline
    const Status late = timeout_error(name + ": not every rank has declared it");
    if (Clock::now() < last) return late;
    parts_.group->give_up(name);
    return job_end_.end_with(late);
  }
  if (!status) return status;
  std::lock_guard lock(tables_.mutex);
  return gradients.run(index);
}

}  // namespace casync::runtime
