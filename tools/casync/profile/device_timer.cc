// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/profile/device_timer.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "runtime/session/session_device.h"

namespace casync::tools {

using runtime::Device;
using runtime::DeviceBuffer;
using runtime::KernelCall;
using runtime::Memory;
using runtime::TurnCall;

Result<DeviceTimer> DeviceTimer::open(const std::string& device, double budget_s) {
  Result<std::unique_ptr<Device>> opened = runtime::open_device(device, 0);
  if (!opened) return opened.status();
  DeviceTimer timer(std::move(*opened), budget_s);
  Result<std::unique_ptr<runtime::Stream>> stream = timer.device_->make_stream(false);
  if (!stream) return stream.status();
  timer.stream_ = std::move(*stream);
  Result<std::unique_ptr<runtime::Event>> event = timer.device_->make_event();
  if (!event) return event.status();
  timer.event_ = std::move(*event);
  return timer;
}

Status DeviceTimer::wait() {
  CASYNC_RETURN_IF_ERROR(stream_->record(*event_));
  while (true) {
    const Result<bool> done = event_->done();
    if (!done) return done.status();
    if (*done) return Status::ok();
    std::this_thread::yield();
  }
}

Result<double> DeviceTimer::seconds_of(const std::function<Status()>& queue) {
  constexpr int kRounds = 3;
  CASYNC_RETURN_IF_ERROR(queue());
  CASYNC_RETURN_IF_ERROR(wait());
  double least = 0;
  for (int round = 0, times = 1; round < kRounds;) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < times; ++i) CASYNC_RETURN_IF_ERROR(queue());
    CASYNC_RETURN_IF_ERROR(wait());
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (seconds < budget_s_ / kRounds && times < 1 << 20) {
      times *= 2;
      continue;
    }
    least = round == 0 ? seconds / times : std::min(least, seconds / times);
    ++round;
  }
  return least;
}

template <class Kernels, class Call>
Result<double> DeviceTimer::seconds_of_calls(Kernels& kernels, std::span<const Call> calls) {
  std::vector<std::unique_ptr<DeviceBuffer>> rooms, pinned;
  for (const Call& call : calls) {
    const Result<runtime::KernelRoom> room = room_of(kernels, call);
    if (!room) return room.status();
    for (const Memory kind : {Memory::kDevice, Memory::kPinned}) {
      Result<std::unique_ptr<DeviceBuffer>> memory =
          device_->allocate(kind == Memory::kDevice ? room->device : room->pinned, kind);
      if (!memory) return memory.status();
      (kind == Memory::kDevice ? rooms : pinned).push_back(std::move(*memory));
    }
  }
  return seconds_of([&]() -> Status {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      CASYNC_RETURN_IF_ERROR(issue(kernels, calls[i], *rooms[i], *pinned[i]));
    }
    return Status::ok();
  });
}

Result<double> DeviceTimer::seconds_of(runtime::CodecKernels& kernels, const KernelCall& call) {
  return seconds_of_calls(kernels, std::span(&call, 1));
}

Result<double> DeviceTimer::seconds_of(runtime::TurnKernels& kernels, std::span<const TurnCall> calls) {
  return seconds_of_calls(kernels, calls);
}

Result<runtime::KernelRoom> DeviceTimer::room_of(runtime::CodecKernels& kernels, const KernelCall& call) {
  return kernels.room({&call, 1});
}

Result<runtime::KernelRoom> DeviceTimer::room_of(runtime::TurnKernels& kernels, const TurnCall& call) {
  return kernels.room(call);
}

Status DeviceTimer::issue(runtime::CodecKernels& kernels, const KernelCall& call, DeviceBuffer& room,
                          DeviceBuffer& pinned) {
  return kernels.issue({&call, 1}, room.device(), pinned.view(), *stream_);
}

Status DeviceTimer::issue(runtime::TurnKernels& kernels, const TurnCall& call, DeviceBuffer& room,
                          DeviceBuffer& pinned) {
  return kernels.issue(call, room.device(), pinned.view(), *stream_);
}

}  // namespace casync::tools
