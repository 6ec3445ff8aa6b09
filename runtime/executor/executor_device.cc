// SPDX-License-Identifier: Apache-2.0
//
// The progress thread's tasks on a device: they are queued as they become ready, and looked for as they end.
#include <thread>

#include "runtime/executor/executor.h"

namespace casync::runtime {
Status Executor::open_device() {
  if (device_.is_host() || rounds_ != nullptr) return Status::ok();
  device_tasks_ = std::make_unique<DeviceTasks>(
      device_, DeviceTasks::Settings{options_.seed, options_.scale, options_.ranks}, *transport_);
  return device_tasks_->open();
}

bool Executor::begin_device_tasks() {
  bool any = false;
  while (device_tasks_->has_room() && !take_stale(compute_) && !failing()) {
    do {
      const ReadyTask ready = compute_.pop();
      prepare(*ready.run, ready.task);
      device_tasks_->add(*ready.run, ready.task);
    } while (!take_stale(compute_) && device_tasks_->joins(*compute_.top().run, compute_.top().task));
    if (Status status = device_tasks_->begin(); !status) report(std::move(status));
    any = true;
  }
  return any;
}

/// Moves the rounds on. A failure ends everything.
bool Executor::run_rounds() {
  if (failing()) return false;
  const Result<bool> moved = rounds_->progress();
  if (!moved) {
    report(moved.status());
    return true;
  }
  while (GradientRun* run = rounds_->take_done()) {
    counters_.tasks.fetch_add(1, std::memory_order_relaxed);
    finish_gradient(*run);
  }
  return *moved;
}

/// Waits until no task is under way on the device, for its memory to be laid out anew.
void Executor::rest_device() {
  while (device_tasks_->under_way() > 0) {
    if (!take_device_outcomes()) std::this_thread::yield();
  }
}

bool Executor::take_device_outcomes() {
  bool any = false;
  while (std::optional<DeviceTasks::Ended> ended = device_tasks_->take_ended()) {
    any = true;
    if (!failing()) finish(*ended->run, ended->task, std::move(ended->outcome), ended->from, ended->lane);
  }
  return any;
}

}  // namespace casync::runtime
