// SPDX-License-Identifier: Apache-2.0
//
// The progress thread's tasks on a device: they are queued as they become ready, and looked for as they end.
#include "runtime/executor/executor.h"

namespace casync::runtime {

Status Executor::open_device() {
  if (device_.is_host()) return Status::ok();
  device_tasks_ = std::make_unique<DeviceTasks>(
      device_, DeviceTasks::Settings{options_.seed, options_.scale, options_.ranks}, *transport_);
  return device_tasks_->open();
}

bool Executor::begin_device_tasks() {
  bool any = false;
  while (device_tasks_->has_room() && !take_stale(compute_) && !failing_.load()) {
    const ReadyTask ready = compute_.pop();
    prepare(*ready.run, ready.task);
    if (Status status = device_tasks_->begin(*ready.run, ready.task); !status) report(std::move(status));
    any = true;
  }
  return any;
}

bool Executor::take_device_outcomes() {
  bool any = false;
  while (std::optional<DeviceTasks::Ended> ended = device_tasks_->take_ended()) {
    any = true;
    if (!failing_.load()) finish(*ended->run, ended->task, std::move(ended->outcome), ended->from, ended->lane);
  }
  return any;
}

}  // namespace casync::runtime
