// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/run_states.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/executor/answering.h"
#include "runtime/executor/bundle.h"

namespace casync::runtime {
namespace {

constexpr Bytes kSharedBlock = 64_KiB;
constexpr Bytes kKeptAlignment = 256;  // that of memory which a run has for itself

bool may_share_block(const GradientRun& run) {
  const KeptState& kept = run.kept;
  return !run.rounds && run.related.neighbourhoods() == 0 && run.owner_side() == nullptr &&
         kept.memory() != ResidualMemory::kOneBuffer && kept.bytes() > 0 && kept.bytes() <= kSharedBlock;
}

/// Returns the runs that share a block, in its order: first the members of each bundle, one behind the other, as their
/// tasks go through them. In the order of declaration each would be in another page than the one ahead of it.
std::vector<GradientRun*> in_block(std::span<const std::unique_ptr<GradientRun>> runs) {
  std::vector<GradientRun*> sharing, order;
  for (const std::unique_ptr<GradientRun>& run : runs) {
    if (may_share_block(*run)) sharing.push_back(run.get());
  }
  for (const std::vector<GradientRun*>& bundle : group_small(sharing)) {
    order.insert(order.end(), bundle.begin(), bundle.end());
  }
  const std::unordered_set<const GradientRun*> bundled(order.begin(), order.end());
  std::copy_if(sharing.begin(), sharing.end(), std::back_inserter(order),
               [&](const GradientRun* run) { return !bundled.contains(run); });
  return order;
}

Bytes bytes_in_block(const GradientRun& run) { return round_up(run.kept.bytes(), kKeptAlignment); }

/// The owner's side of `run`, with all that it has told nobody; null: there is none.
Answering* answering_of(const GradientRun& run) {
  const GradientRun* const side = run.owner_side();
  return side == nullptr ? nullptr : side->answering.get();
}

}  // namespace

Status allocate_kept(GradientRun& run, Device& device) {
  if (run.rounds) CASYNC_RETURN_IF_ERROR(run.rounds->allocate(device));
  for (std::size_t i = 0; i < run.related.neighbourhoods(); ++i) {
    const GradientRun& one = run.related.gossip(i);
    if (one.rounds) CASYNC_RETURN_IF_ERROR(one.rounds->allocate(device));
  }
  if (Answering* const answering = answering_of(run)) {
    CASYNC_RETURN_IF_ERROR(answering->allocate(*run.owner_side(), device));
  }
  if (run.kept.floats() == 0) return Status::ok();
  CASYNC_RETURN_IF_ERROR(run.kept.allocate(device));
  return reset_kept(run, device);
}

Status allocate_kept(std::span<const std::unique_ptr<GradientRun>> runs, Device& device) {
  for (const std::unique_ptr<GradientRun>& run : runs) {
    if (!may_share_block(*run)) CASYNC_RETURN_IF_ERROR(allocate_kept(*run, device));
  }
  const std::vector<GradientRun*> sharing = in_block(runs);
  if (sharing.empty()) return Status::ok();
  Bytes bytes = 0;
  for (const GradientRun* run : sharing) bytes += bytes_in_block(*run);
  Result<std::unique_ptr<DeviceBuffer>> memory = device.allocate(2 * bytes, Memory::kDevice);
  if (!memory) return memory.status();
  const std::shared_ptr<DeviceBuffer> block = std::move(*memory);
  Bytes at = 0;
  for (GradientRun* run : sharing) {
    run->kept.lie_in(block, at, bytes);
    at += bytes_in_block(*run);
    CASYNC_RETURN_IF_ERROR(reset_kept(*run, device));
  }
  return Status::ok();
}

Status reset_kept(GradientRun& run, Device& device) {
  if (Answering* const answering = answering_of(run)) {
    CASYNC_RETURN_IF_ERROR(answering->write({}, run.step.completed()));
  }
  return run.kept.reset(device);
}

Elements state_floats(const GradientRun& run) {
  const Answering* const answering = answering_of(run);
  return run.kept.floats() + (answering != nullptr ? answering->state_floats() : 0);
}

Status read_kept(const GradientRun& run, Device& device, std::vector<float>* kept) {
  kept->assign(state_floats(run), 0);
  const std::span<float> all(*kept);
  if (const Answering* const answering = answering_of(run)) {
    CASYNC_RETURN_IF_ERROR(answering->read(all.subspan(run.kept.floats())));
  }
  return run.kept.read(device, all.first(run.kept.floats()));
}

Status write_kept(GradientRun& run, Device& device, std::span<const float> kept) {
  if (Answering* const answering = answering_of(run)) {
    CASYNC_RETURN_IF_ERROR(answering->write(kept.subspan(run.kept.floats()), run.step.completed()));
  }
  return run.kept.write(device, kept.first(run.kept.floats()));
}

}  // namespace casync::runtime
