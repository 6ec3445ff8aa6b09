// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/answering.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "runtime/executor/gradient_run.h"

namespace casync::runtime {
namespace {

constexpr Bytes kAlignment = 64;

}  // namespace

Answering::Answering(const Asynchronous& rule, const TaskGraph& graph, std::span<const Owned> owned,
                     std::vector<bool> contributes, Rank self, bool residuals)
    : contributes_(std::move(contributes)), addressees_(graph.tasks().size()) {
  partitions_.reserve(owned.size());
  for (const Owned& one : owned) {
    partitions_.emplace_back(rule, one.number, one.slice, contributes_, self, residuals);
  }
  for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
    const Primitive& message = graph.tasks()[i];
    if (const Recv* recv = std::get_if<Recv>(&message)) {
      of(*find(recv->id.partition)).messages(recv->from).contribution = recv->to;
    } else {
      const Send& send = std::get<Send>(message);
      OwnedPartition::PeerMessages& messages = of(*find(send.id.partition)).messages(send.to);
      messages.send = TaskId(static_cast<std::uint32_t>(i));
      messages.answer = send.from;
      addressees_[i] = {*find(send.id.partition), send.to};
    }
  }
}

std::optional<TaskId> Answering::find(std::uint32_t number) const {
  const auto found = std::find_if(partitions_.begin(), partitions_.end(),
                                  [&](const OwnedPartition& one) { return one.number() == number; });
  if (found == partitions_.end()) return std::nullopt;
  return TaskId(static_cast<std::uint32_t>(found - partitions_.begin()));
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
    for (const OwnedPartition& partition : partitions_)
      sums_at.push_back(take(partition.sums().floats() * sizeof(float)));
  }
  for (std::size_t i = 0; i < side.buffers.count(); ++i) {
    buffer_at.push_back(take(side.buffers.bound_of(BufferId(static_cast<std::uint32_t>(i)))));
  }
  Result<std::unique_ptr<DeviceBuffer>> memory = device.allocate(bytes, Memory::kPinned);
  if (!memory) return memory.status();
  memory_ = std::move(*memory);
  const View all = memory_->view();
  for (std::size_t i = 0; i < sums_at.size(); ++i) {
    partitions_[i].sums().lie_at(reinterpret_cast<float*>(all.data + sums_at[i]));
  }
  for (std::size_t i = 0; i < side.buffers.count(); ++i) {
    const auto buffer = BufferId(static_cast<std::uint32_t>(i));
    side.buffers.place(buffer, all.slice(buffer_at[i], side.buffers.bound_of(buffer)), false);
  }
  if (device.is_host()) return Status::ok();
  std::vector<DeviceSums> sums;
  for (const OwnedPartition& partition : partitions_) {
    const bool residuals = side.codec(Hop::kSecond).info().states != 0;
    sums.emplace_back(static_cast<int>(contributes_.size()), partition.elements(), residuals);
  }
  Result<std::unique_ptr<DeviceAnswers>> answers = DeviceAnswers::make(std::move(sums), device);
  if (!answers) return answers.status();
  on_device_ = std::move(*answers);
  return Status::ok();
}

bool Answering::begin(TaskId task, View own) {
  OwnedPartition& partition = of(task);
  if (!partition.begin(own)) return false;
  for (std::size_t i = 0; on_device_ && i < contributes_.size(); ++i) {
    const auto rank = static_cast<Rank>(i);
    if (partition.batches().contributed(rank) == kEver) on_device_->sums(task).of(rank).end();
  }
  return true;
}

void Answering::begin_levelling(TaskId task, std::uint32_t step) {
  of(task).begin_levelling(step);
  ++to_level_;
}

bool Answering::finish_levelling(TaskId task) {
  of(task).end_levelling();
  return --to_level_ == 0;
}

Status Answering::level_on_device(std::uint32_t step) {
  for (std::size_t i = 0; i < partitions_.size(); ++i) {
    partitions_[i].batches().go_to(step);
    CASYNC_RETURN_IF_ERROR(on_device_->sums(TaskId(static_cast<std::uint32_t>(i))).level(contributes_));
  }
  return Status::ok();
}

Elements Answering::state_floats() const {
  Elements floats = 0;
  for (const OwnedPartition& partition : partitions_) floats += partition.sums().state_floats();
  return floats;
}

Status Answering::read(std::span<float> to) const {
  float* at = to.data();
  for (std::size_t i = 0; i < partitions_.size(); ++i) {
    const UntoldSums& sums = partitions_[i].sums();
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
    UntoldSums& sums = partitions_[i].sums();
    if (on_device_) {
      CASYNC_RETURN_IF_ERROR(on_device_->sums(TaskId(static_cast<std::uint32_t>(i))).write(at));
    } else {
      sums.write(at);
    }
    partitions_[i].batches().go_to(step);
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
