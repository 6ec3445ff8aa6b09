// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/emulated/streams.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace casync::compll::emulated {
namespace {

using Code = DriverApi::Code;
using Handle = DriverApi::Handle;

struct Event {
  int device = 0;
  std::uint64_t recorded = 0, completed = 0;
};

struct Stream {
  int device = 0;
  std::deque<std::function<void()>> queue;
  bool busy = false, ending = false;
  std::thread thread;
};

/// One for the process, and never destroyed: streams may outlive main's end.
struct State {
  std::mutex mutex;
  std::condition_variable changed;
  Code error = 0;
  bool held = false;
};
State& state() {
  static State& one = *new State;
  return one;
}

void run(Stream& stream) {
  State& all = state();
  std::unique_lock lock(all.mutex);
  while (true) {
    all.changed.wait(lock, [&] { return (!stream.queue.empty() && !all.held) || stream.ending; });
    if (stream.queue.empty()) return;
    const std::function<void()> work = std::move(stream.queue.front());
    stream.queue.pop_front();
    stream.busy = true;
    lock.unlock();
    work();
    lock.lock();
    stream.busy = false;
    all.changed.notify_all();
  }
}

}  // namespace

void set_error(Code code) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  all.error = code;
  all.changed.notify_all();
}

Code error() {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  return all.error;
}

void hold_streams() {
  const std::lock_guard lock(state().mutex);
  state().held = true;
}

void release_streams() {
  const std::lock_guard lock(state().mutex);
  state().held = false;
  state().changed.notify_all();
}

Handle make_stream(int device) {
  auto* const stream = new Stream;
  stream->device = device;
  stream->thread = std::thread([stream] { run(*stream); });
  return stream;
}

void end_stream(Handle handle) {
  auto* const stream = static_cast<Stream*>(handle);
  {
    const std::lock_guard lock(state().mutex);
    stream->ending = true;
    if (state().error != 0) stream->queue.clear();
    state().changed.notify_all();
  }
  stream->thread.join();
  delete stream;
}

Code enqueue(Handle handle, int device, std::function<void()> work) {
  auto* const stream = static_cast<Stream*>(handle);
  if (stream == nullptr || stream->device != device) return kInvalidHandle;
  State& all = state();
  const std::lock_guard lock(all.mutex);
  if (all.error != 0) return all.error;
  stream->queue.push_back([work = std::move(work)] {
    if (error() == 0) work();
  });
  all.changed.notify_all();
  return 0;
}

Code wait_for(Handle handle) {
  auto* const stream = static_cast<Stream*>(handle);
  if (stream == nullptr) return kInvalidHandle;
  State& all = state();
  std::unique_lock lock(all.mutex);
  all.changed.wait(lock, [&] { return all.error != 0 || (stream->queue.empty() && !stream->busy); });
  return all.error;
}

Handle make_event(int device) {
  auto* const event = new Event;
  event->device = device;
  return event;
}

void end_event(Handle event) { delete static_cast<Event*>(event); }

Code record(Handle handle, Handle stream, int device) {
  auto* const event = static_cast<Event*>(handle);
  if (event->device != device) return kInvalidHandle;
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(state().mutex);
    number = ++event->recorded;
  }
  return enqueue(stream, device, [event, number] {
    const std::lock_guard lock(state().mutex);
    event->completed = number;
    state().changed.notify_all();
  });
}

Code query(Handle handle) {
  const auto* const event = static_cast<const Event*>(handle);
  const std::lock_guard lock(state().mutex);
  if (state().error != 0) return state().error;
  return event->completed >= event->recorded ? 0 : DriverApi::kNotReady;
}

Code wait_in(Handle stream, Handle handle, int device) {
  auto* const event = static_cast<Event*>(handle);
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(state().mutex);
    number = event->recorded;
  }
  return enqueue(stream, device, [event, number] {
    std::unique_lock lock(state().mutex);
    state().changed.wait(lock, [&] { return event->completed >= number || state().error != 0; });
  });
}

}  // namespace casync::compll::emulated
