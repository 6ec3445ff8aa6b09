// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/owned_partition.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "base/check.h"
#include "compll/ops/cpu/convert.h"
#include "runtime/executor/gradient_run.h"

namespace casync::runtime {
namespace {

bool all_finite(const float* values, Elements count) {
  return std::all_of(values, values + count, [](float x) { return std::isfinite(x); });
}

}  // namespace

OwnedPartition::OwnedPartition(const Asynchronous& rule, std::uint32_t number, Slice slice,
                               const std::vector<bool>& contributes, Rank self, bool residuals)
    : number_(number),
      slice_(slice),
      contributes_(contributes),
      self_(self),
      batches_(rule, contributes),
      sums_(static_cast<int>(contributes.size()), slice.count, residuals),
      messages_(contributes.size()),
      made_(contributes.size()) {}

BufferId OwnedPartition::own_answer(GradientRun& run) const {
  const Arrivals::Arrival* const arrival = run.arrivals.find({number_, kAnswerHop}, self_);
  CASYNC_CHECK(arrival != nullptr);
  return arrival->to();
}

bool OwnedPartition::begin(View own) {
  if (!batches_.begin()) return false;
  own_ = own;
  for (std::size_t i = 0; i < contributes_.size(); ++i) {
    const auto rank = static_cast<Rank>(i);
    if (batches_.contributed(rank) == AnswerBatches::kEver) sums_.end(rank);
  }
  return true;
}

void OwnedPartition::begin_levelling(std::uint32_t step) {
  batches_.go_to(step);
  levels_ = true;
}

Status OwnedPartition::check(const GradientRun& side, Rank rank) const {
  const BufferId buffer = messages(rank).contribution;
  const RunBuffers::State& state = side.state(buffer);
  const Status status = side.codec(Hop::kFirst).check({state.memory.data, state.bytes}, elements());
  if (status) return status;
  return data_loss("message from rank " + std::to_string(rank) + " (gradient " + side.spec.name + ", step " +
                   std::to_string(batches_.contributed(rank) - 1) + ", partition " + std::to_string(number_) +
                   "): not a payload of its codec: " + status.message());
}

/// Adds the contribution of `rank`: its code, or this rank's own elements.
Status OwnedPartition::add(GradientRun& side, Rank rank, Scratch& scratch) {
  const Elements count = elements();
  bool finite = true;
  const float* values = scratch.values.data();
  if (rank == self_) {
    const View own = side.related.outer()->memory(slice_);
    if (side.is_float32()) {
      values = reinterpret_cast<const float*>(own.data);
    } else {
      compll::to_float32(side.spec.dtype, own.data, count, scratch.values.data());
    }
  } else {
    const BufferId buffer = messages(rank).contribution;
    const RunBuffers::State& state = side.state(buffer);
    const compll::Codec& codec = side.codec(Hop::kFirst);
    const ConstView code{state.memory.data, state.bytes};
    CASYNC_RETURN_IF_ERROR(check(side, rank));
    finite = state.finite;
    if (codec.info().identity) {
      values = reinterpret_cast<const float*>(code.data);
    } else {
      codec.decode(code, count, scratch.values.data());
    }
  }
  if (finite && all_finite(values, count)) {
    sums_.add(values);
  } else {
    sums_.leave_out();
  }
  return Status::ok();
}

TaskOutcome OwnedPartition::run(GradientRun& side, std::uint64_t seed, float scale, Scratch& scratch) {
  if (levels_) {
    sums_.level(contributes_);
    return {};
  }
  for (const Rank rank : batches_.taken()) {
    if (Status status = add(side, rank, scratch); !status) return {std::move(status), 0, true};
  }
  const compll::Codec& second = side.codec(Hop::kSecond);
  for (const Rank rank : batches_.answered()) {
    const PeerMessages& at = messages(rank);
    std::byte* const payload = rank == self_ ? own_.data : side.state(at.answer).memory.data;
    const compll::EncodeContext context = context_of(side.self, side.related.outer()->key, batches_.answered_step(rank),
                                                     second.info(), KeptBy::kMerge, slice_, seed);
    made_[static_cast<std::size_t>(rank)] =
        sums_.answer(rank, side.codec(Hop::kFirst), second, scale, context, payload);
  }
  return {};
}

}  // namespace casync::runtime
