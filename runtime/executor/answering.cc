// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/answering.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "compll/ops/cpu/convert.h"
#include "runtime/executor/gradient_run.h"

namespace casync::runtime {
namespace {

constexpr Bytes kAlignment = 64;

bool all_finite(const float* values, Elements count) {
  return std::all_of(values, values + count, [](float x) { return std::isfinite(x); });
}

}  // namespace

Answering::Answering(const Asynchronous& rule, const TaskGraph& graph, std::span<const Owned> owned,
                     std::vector<bool> contributes, Rank self, bool residuals)
    : contributes_(std::move(contributes)), self_(self), addressees_(graph.tasks().size()) {
  const std::size_t ranks = contributes_.size();
  for (const Owned& one : owned) {
    partitions_.push_back({.owned = one,
                           .batches = AnswerBatches(rule, contributes_),
                           .sums = UntoldSums(static_cast<int>(ranks), one.slice.count, residuals),
                           .messages = std::vector<Messages>(ranks),
                           .made = std::vector<compll::Encoded>(ranks)});
  }
  for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
    const Primitive& message = graph.tasks()[i];
    if (const Recv* recv = std::get_if<Recv>(&message)) {
      Partition& partition = at(task_of(recv->id.partition));
      partition.messages[static_cast<std::size_t>(recv->from)].contribution = recv->to;
    } else {
      const Send& send = std::get<Send>(message);
      const TaskId task = task_of(send.id.partition);
      Messages& messages = at(task).messages[static_cast<std::size_t>(send.to)];
      messages.send = TaskId(static_cast<std::uint32_t>(i));
      messages.answer = send.from;
      addressees_[i] = {task, send.to};
    }
  }
}

/// As many as there are: it is none of them.
std::size_t Answering::place_of(std::uint32_t number) const {
  const auto found = std::find_if(partitions_.begin(), partitions_.end(),
                                  [&](const Partition& one) { return one.owned.number == number; });
  return static_cast<std::size_t>(found - partitions_.begin());
}

TaskId Answering::task_of(std::uint32_t number) const {
  CASYNC_CHECK(owns(number));
  return TaskId(static_cast<std::uint32_t>(place_of(number)));
}

Status Answering::allocate(GradientRun& side, Device& device) {
  Bytes bytes = 0;
  const auto take = [&](Bytes more) {
    const Bytes at = bytes;
    bytes += round_up(more, kAlignment);
    return at;
  };
  std::vector<Bytes> sums_at, buffer_at;
  if (device.is_host()) {
    for (const Partition& partition : partitions_) sums_at.push_back(take(partition.sums.floats() * sizeof(float)));
  }
  for (std::size_t i = 0; i < side.buffers.size(); ++i) {
    buffer_at.push_back(take(side.bound_of(BufferId(static_cast<std::uint32_t>(i)))));
  }
  Result<std::unique_ptr<DeviceBuffer>> memory = device.allocate(bytes, Memory::kPinned);
  if (!memory) return memory.status();
  memory_ = std::move(*memory);
  const View all = memory_->view();
  for (std::size_t i = 0; i < sums_at.size(); ++i) {
    partitions_[i].sums.lie_at(reinterpret_cast<float*>(all.data + sums_at[i]));
  }
  for (std::size_t i = 0; i < side.buffers.size(); ++i) {
    side.buffers[i].memory = all.slice(buffer_at[i], side.bound_of(BufferId(static_cast<std::uint32_t>(i))));
  }
  if (device.is_host()) return Status::ok();
  std::vector<DeviceSums> sums;
  for (const Partition& partition : partitions_) {
    const bool residuals = side.codec(Hop::kSecond).info().states != 0;
    sums.emplace_back(static_cast<int>(contributes_.size()), partition.owned.slice.count, residuals);
  }
  Result<std::unique_ptr<DeviceAnswers>> answers = DeviceAnswers::make(std::move(sums), device);
  if (!answers) return answers.status();
  on_device_ = std::move(*answers);
  return Status::ok();
}

BufferId Answering::own_answer(GradientRun& run, TaskId task) const {
  const GradientRun::Arrival* const arrival = run.arrival({number_of(task), kAnswerHop}, self_);
  CASYNC_CHECK(arrival != nullptr);
  return std::get<Recv>(run.graph.tasks()[TaskGraph::index(arrival->task)]).to;
}

bool Answering::begin(TaskId task, View own) {
  Partition& partition = at(task);
  if (!partition.batches.begin()) return false;
  partition.own = own;
  for (std::size_t i = 0; i < contributes_.size(); ++i) {
    const auto rank = static_cast<Rank>(i);
    if (partition.batches.contributed(rank) != kEver) continue;
    partition.sums.end(rank);
    if (on_device_) on_device_->sums(task).end(rank);
  }
  return true;
}

void Answering::begin_levelling(TaskId task, std::uint32_t step) {
  at(task).batches.go_to(step);
  at(task).levels = true;
  ++to_level_;
}

bool Answering::finish_levelling(TaskId task) {
  at(task).levels = false;
  return --to_level_ == 0;
}

Status Answering::level_on_device(std::uint32_t step) {
  for (std::size_t i = 0; i < partitions_.size(); ++i) {
    partitions_[i].batches.go_to(step);
    CASYNC_RETURN_IF_ERROR(on_device_->sums(TaskId(static_cast<std::uint32_t>(i))).level(contributes_));
  }
  return Status::ok();
}

Status Answering::check(const GradientRun& side, TaskId task, Rank rank) const {
  const Partition& partition = at(task);
  const BufferId buffer = partition.messages[static_cast<std::size_t>(rank)].contribution;
  const GradientRun::BufferState& state = side.buffers[TaskGraph::index(buffer)];
  const Status status = side.codec(Hop::kFirst).check({state.memory.data, state.bytes}, partition.owned.slice.count);
  if (status) return status;
  return data_loss("message from rank " + std::to_string(rank) + " (gradient " + side.spec.name + ", step " +
                   std::to_string(partition.batches.contributed(rank) - 1) + ", partition " +
                   std::to_string(partition.owned.number) + "): not a payload of its codec: " + status.message());
}

/// Adds the contribution of `rank`: its code, or this rank's own elements.
Status Answering::add(GradientRun& side, TaskId task, Rank rank, Scratch& scratch) {
  Partition& partition = at(task);
  const Elements count = partition.owned.slice.count;
  bool finite = true;
  const float* values = scratch.values.data();
  if (rank == self_) {
    const View own = side.outer->memory(partition.owned.slice);
    if (side.is_float32()) {
      values = reinterpret_cast<const float*>(own.data);
    } else {
      compll::to_float32(side.spec.dtype, own.data, count, scratch.values.data());
    }
  } else {
    const BufferId buffer = partition.messages[static_cast<std::size_t>(rank)].contribution;
    const GradientRun::BufferState& state = side.state(buffer);
    const compll::Codec& codec = side.codec(Hop::kFirst);
    const ConstView code{state.memory.data, state.bytes};
    CASYNC_RETURN_IF_ERROR(check(side, task, rank));
    finite = state.finite;
    if (codec.info().identity) {
      values = reinterpret_cast<const float*>(code.data);
    } else {
      codec.decode(code, count, scratch.values.data());
    }
  }
  if (finite && all_finite(values, count)) {
    partition.sums.add(values);
  } else {
    partition.sums.leave_out();
  }
  return Status::ok();
}

TaskOutcome Answering::run(GradientRun& side, TaskId task, std::uint64_t seed, float scale, Scratch& scratch) {
  Partition& partition = at(task);
  if (partition.levels) {
    partition.sums.level(contributes_);
    return {};
  }
  for (const Rank rank : partition.batches.taken()) {
    if (Status status = add(side, task, rank, scratch); !status) return {std::move(status), 0, true};
  }
  const compll::Codec& second = side.codec(Hop::kSecond);
  for (const Rank rank : partition.batches.answered()) {
    const Messages& messages = partition.messages[static_cast<std::size_t>(rank)];
    std::byte* const payload = rank == self_ ? partition.own.data : side.state(messages.answer).memory.data;
    const compll::EncodeContext context =
        context_of(side.self, side.outer->key, partition.batches.answered_step(rank), second.info(),
                   GradientRun::KeptBy::kMerge, partition.owned.slice, seed);
    partition.made[static_cast<std::size_t>(rank)] =
        partition.sums.answer(rank, side.codec(Hop::kFirst), second, scale, context, payload);
  }
  return {};
}

Elements Answering::state_floats() const {
  Elements floats = 0;
  for (const Partition& partition : partitions_) floats += partition.sums.state_floats();
  return floats;
}

Status Answering::read(std::span<float> to) const {
  float* at = to.data();
  for (std::size_t i = 0; i < partitions_.size(); ++i) {
    const UntoldSums& sums = partitions_[i].sums;
    if (on_device_) {
      CASYNC_RETURN_IF_ERROR(on_device_->sums(TaskId(static_cast<std::uint32_t>(i))).read(at));
    } else {
      sums.read(at);
    }
    at += sums.state_floats();
  }
  return Status::ok();
}

Status Answering::write(std::span<const float> from, std::uint32_t step) {
  const float* at = from.empty() ? nullptr : from.data();
  for (std::size_t i = 0; i < partitions_.size(); ++i) {
    UntoldSums& sums = partitions_[i].sums;
    if (on_device_) {
      CASYNC_RETURN_IF_ERROR(on_device_->sums(TaskId(static_cast<std::uint32_t>(i))).write(at));
    } else {
      sums.write(at);
    }
    partitions_[i].batches.go_to(step);
    if (at != nullptr) at += sums.state_floats();
  }
  put_off_from_ = step;
  return Status::ok();
}

std::string text_of(const AnswerBatches::Wait& wait, std::uint32_t partition) {
  return "its answer for partition " + std::to_string(partition) + " waits for rank " + std::to_string(wait.slowest) +
         ", which has contributed to " +
         (wait.steps == 0 ? "no step" : "steps up to " + std::to_string(wait.steps - 1));
}

}  // namespace casync::runtime
