// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/device_answers.h"

#include <utility>

#include "compll/codec/registry.h"

namespace casync::runtime {
namespace {

constexpr Bytes kSumAlignment = 256;

}  // namespace

DeviceAnswers::DeviceAnswers(std::vector<DeviceSums> sums)
    : sums_(std::move(sums)),
      ranks_(sums_.empty() ? 0 : static_cast<std::size_t>(sums_.front().ranks())),
      to_make_(sums_.size()) {}

Result<std::unique_ptr<DeviceAnswers>> DeviceAnswers::make(std::vector<DeviceSums> sums, Device& device) {
  auto made = std::unique_ptr<DeviceAnswers>(new DeviceAnswers(std::move(sums)));
  auto codec = compll::make_built_in_codec("contribution");
  if (!codec) return codec.status();
  made->contribution_ = std::move(*codec);
  Bytes bytes = 0;
  for (const DeviceSums& one : made->sums_) bytes += round_up(one.floats() * sizeof(float), kSumAlignment);
  auto memory = device.allocate(bytes, Memory::kDevice);
  if (!memory) return memory.status();
  made->memory_ = std::move(*memory);
  Bytes at = 0;
  for (DeviceSums& one : made->sums_) {
    const Bytes own = one.floats() * sizeof(float);
    CASYNC_RETURN_IF_ERROR(one.lie_at(made->memory_->device().slice(at, own), device));
    at += round_up(own, kSumAlignment);
  }
  return made;
}

TaskId DeviceAnswers::answer_task(TaskId batch, Rank rank) const {
  const std::size_t at = sums_.size() + TaskGraph::index(batch) * ranks_ + static_cast<std::size_t>(rank);
  return TaskId(static_cast<std::uint32_t>(at));
}

TaskId DeviceAnswers::batch_of(TaskId task) const {
  const std::size_t at = TaskGraph::index(task);
  if (at < sums_.size()) return task;
  return TaskId(static_cast<std::uint32_t>((at - sums_.size()) / ranks_));
}

std::optional<Rank> DeviceAnswers::addressee(TaskId task) const {
  const std::size_t at = TaskGraph::index(task);
  if (at < sums_.size()) return std::nullopt;
  return static_cast<Rank>((at - sums_.size()) % ranks_);
}

}  // namespace casync::runtime
