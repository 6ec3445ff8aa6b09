// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/emulated/streams.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace casync::compll::emulated {
namespace {

using Code = DriverApi::Code;
using Handle = DriverApi::Handle;

// Status of a stream that is captured, and of one whose capture a call has ended.
constexpr int kCaptured = 1, kEndedCapture = 2;
thread_local int capture_mode = 0;  ///< the strictest: calls of this thread end captures of all

struct Stream {
  int device = 0;
  std::deque<std::function<void()>> queue;
  bool busy = false, ending = false;
  int capture = DriverApi::kCaptureNone;
  std::condition_variable wake;   ///< its own thread, which waits for work or for an event
  std::condition_variable ended;  ///< others, which wait for its work
  std::thread thread;
};

struct Event {
  int device = 0;
  bool timed = false;
  std::uint64_t recorded = 0, completed = 0;
  double at_ms = 0;               ///< when the last record was completed
  std::vector<Stream*> awaiting;  ///< streams whose threads wait for it
};

/// One for the process, and never destroyed: streams may outlive main's end. Whatever happens wakes only who waits for
/// it: sessions of several ranks have dozens of streams.
struct State {
  std::mutex mutex;
  std::vector<Stream*> streams;
  std::condition_variable rested;  ///< a stream has ended what it ran
  Code error = 0;
  bool held = false;
  std::optional<double> time_ms;  ///< that a test has set
};
State& state() {
  static State& one = *new State;
  return one;
}

void run(Stream& stream) {
  State& all = state();
  std::unique_lock lock(all.mutex);
  while (true) {
    stream.wake.wait(lock, [&] { return stream.queue.empty() ? stream.ending : !all.held; });
    if (stream.queue.empty()) break;
    const std::function<void()> work = std::move(stream.queue.front());
    stream.queue.pop_front();
    stream.busy = true;
    lock.unlock();
    work();
    lock.lock();
    stream.busy = false;
    all.rested.notify_all();
    if (stream.queue.empty()) stream.ended.notify_all();
  }
  std::erase(all.streams, &stream);
  lock.unlock();
  delete &stream;
}

/// Under the mutex.
void wake_all() {
  for (Stream* const stream : state().streams) {
    stream->wake.notify_all();
    stream->ended.notify_all();
  }
}

/// Under the mutex.
double time_ms() {
  if (state().time_ms) return *state().time_ms;
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A handle is a pointer to this, so that work which is queued keeps an event that has ended.
const std::shared_ptr<Event>& event_of(Handle handle) { return *static_cast<const std::shared_ptr<Event>*>(handle); }

}  // namespace

void set_error(Code code) {
  State& all = state();
  std::unique_lock lock(all.mutex);
  if (code == 0) {
    const auto is_busy = [](const Stream* stream) { return stream->busy; };
    all.rested.wait(lock, [&] { return std::none_of(all.streams.begin(), all.streams.end(), is_busy); });
  } else {
    for (Stream* const stream : all.streams) stream->queue.clear();
  }
  all.error = code;
  wake_all();
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
  wake_all();
}

Handle make_stream(int device) {
  auto* const stream = new Stream;
  stream->device = device;
  {
    const std::lock_guard lock(state().mutex);
    state().streams.push_back(stream);
  }
  stream->thread = std::thread([stream] { run(*stream); });
  return stream;
}

void end_stream(Handle handle) {
  auto* const stream = static_cast<Stream*>(handle);
  const std::lock_guard lock(state().mutex);
  stream->thread.detach();
  stream->ending = true;
  stream->wake.notify_all();
}

Code enqueue(Handle handle, int device, std::function<void()> work) {
  auto* const stream = static_cast<Stream*>(handle);
  if (stream == nullptr || stream->device != device) return kInvalidHandle;
  State& all = state();
  const std::lock_guard lock(all.mutex);
  if (all.error != 0) return all.error;
  if (stream->capture != DriverApi::kCaptureNone) {
    stream->capture = kEndedCapture;
    return kCaptureUnsupported;
  }
  stream->queue.push_back([work = std::move(work)] {
    if (error() == 0) work();
  });
  stream->wake.notify_all();
  return 0;
}

Code wait_for(Handle handle) {
  auto* const stream = static_cast<Stream*>(handle);
  if (stream == nullptr) return kInvalidHandle;
  State& all = state();
  std::unique_lock lock(all.mutex);
  stream->ended.wait(lock, [&] { return all.error != 0 || (stream->queue.empty() && !stream->busy); });
  return all.error;
}

void begin_capture(Handle stream) {
  const std::lock_guard lock(state().mutex);
  static_cast<Stream*>(stream)->capture = kCaptured;
}

bool end_capture(Handle stream) {
  const std::lock_guard lock(state().mutex);
  return std::exchange(static_cast<Stream*>(stream)->capture, DriverApi::kCaptureNone) == kCaptured;
}

Code is_capturing(Handle stream, int* status) {
  if (stream == nullptr) return kInvalidHandle;
  const std::lock_guard lock(state().mutex);
  *status = static_cast<Stream*>(stream)->capture;
  return state().error;
}

Code exchange_capture_mode(int* mode) {
  std::swap(*mode, capture_mode);
  return 0;
}

Code end_captures() {
  if (capture_mode == DriverApi::kRelaxedCapture) return 0;
  const std::lock_guard lock(state().mutex);
  Code code = 0;
  for (Stream* const stream : state().streams) {
    if (stream->capture == DriverApi::kCaptureNone) continue;
    stream->capture = kEndedCapture;
    code = kCaptureUnsupported;
  }
  return code;
}

void set_time(double milliseconds) {
  const std::lock_guard lock(state().mutex);
  state().time_ms = milliseconds;
}

void take_host_time() {
  const std::lock_guard lock(state().mutex);
  state().time_ms.reset();
}

Handle make_event(int device, bool timed) {
  auto event = std::make_shared<Event>();
  event->device = device;
  event->timed = timed;
  return new std::shared_ptr<Event>(std::move(event));
}

void end_event(Handle event) { delete static_cast<std::shared_ptr<Event>*>(event); }

Code record(Handle handle, Handle stream, int device) {
  const std::shared_ptr<Event> event = event_of(handle);
  if (event->device != device) return kInvalidHandle;
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(state().mutex);
    number = ++event->recorded;
  }
  const Code code = enqueue(stream, device, [event, number] {
    const std::lock_guard lock(state().mutex);
    event->completed = number;
    event->at_ms = time_ms();
    for (Stream* const waiting : event->awaiting) waiting->wake.notify_all();
  });
  if (code == 0) return 0;
  const std::lock_guard lock(state().mutex);
  --event->recorded;  // it says what it said
  return code;
}

Code query(Handle handle) {
  const std::shared_ptr<Event> event = event_of(handle);
  const std::lock_guard lock(state().mutex);
  if (state().error != 0) return state().error;
  return event->completed >= event->recorded ? 0 : DriverApi::kNotReady;
}

Code milliseconds_between(float* milliseconds, Handle begin, Handle end) {
  const std::shared_ptr<Event> first = event_of(begin), last = event_of(end);
  const std::lock_guard lock(state().mutex);
  if (state().error != 0) return state().error;
  for (const auto& each : {first, last}) {
    if (!each->timed || each->recorded == 0) return kInvalidHandle;
  }
  for (const auto& each : {first, last}) {
    if (each->completed < each->recorded) return DriverApi::kNotReady;
  }
  *milliseconds = static_cast<float>(last->at_ms - first->at_ms);
  return 0;
}

Code wait_in(Handle on, Handle handle, int device) {
  auto* const stream = static_cast<Stream*>(on);
  const std::shared_ptr<Event> event = event_of(handle);
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(state().mutex);
    number = event->recorded;
  }
  return enqueue(stream, device, [stream, event, number] {
    std::unique_lock lock(state().mutex);
    event->awaiting.push_back(stream);
    stream->wake.wait(lock, [&] { return event->completed >= number || state().error != 0; });
    std::erase(event->awaiting, stream);
  });
}

}  // namespace casync::compll::emulated
