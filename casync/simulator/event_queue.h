// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace casync {

/// Something that happens at a moment of virtual time. What `subject` is, the kind says.
struct Event {
  enum class Kind : std::uint8_t {
    kTraining,   ///< a rank's training reaches its next milestone
    kCodec,      ///< a rank's codec task is over
    kPortFree,   ///< a message has left its sender; subject: its first task
    kHead,       ///< its first byte comes to the receiver's port
    kArrived,    ///< its last byte is there
    kMessages,   ///< a rank's processors have done their part of a message
    kAnnounced,  ///< its receiver is asked whether it may come
    kAnswered,   ///< its sender is told that it may
    kCredit,     ///< its sender knows that it has arrived
    kUpload,     ///< a rank's copy to its device is over
    kDownload    ///< and one from it
  };
  double time = 0;
  std::uint64_t order = 0;  ///< decides between equal times
  std::uint32_t subject = 0;
  std::uint32_t version = 0;  ///< of work: events of an earlier one are out of date; of a message: its step
  Rank rank = 0;              ///< decides between equal orders
  Kind kind{};
};

/// Events, the earliest first.
class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  double next_time() const { return heap_.front().time; }

  void push(const Event& event) {
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  /// Among equal times in the order of being pushed.
  void push(double time, Event::Kind kind, std::uint32_t subject, std::uint32_t version = 0) {
    push({time, pushed_++, subject, version, 0, kind});
  }

  Event pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Event event = heap_.back();
    heap_.pop_back();
    return event;
  }

 private:
  static bool later(const Event& a, const Event& b) {
    if (a.time != b.time) return a.time > b.time;
    return a.order != b.order ? a.order > b.order : a.rank > b.rank;
  }

  std::vector<Event> heap_;
  std::uint64_t pushed_ = 0;
};

/// Codec tasks of a device that one batch of kernels serves: they follow each other, are of one codec and verb, and
/// were ready when the first of them began (runtime/executor/batch_lane.h).
struct SharedKernels {
  static constexpr int kMost = 64;

  std::uint32_t codec = 0;
  std::uint8_t verb = 0;
  int tasks = 0;
  std::uint64_t before = 0;  ///< arrivals of those that were ready
  double ended = -1;         ///< the last one

  /// Returns true if a task joins those; else it is the first of others. `arrivals`: so far.
  bool takes(std::uint32_t its_codec, std::uint8_t its_verb, std::uint64_t arrival, std::uint64_t arrivals,
             double now) {
    if (tasks < kMost && codec == its_codec && verb == its_verb && arrival < before && ended == now) {
      ++tasks;
      return true;
    }
    *this = {its_codec, its_verb, 1, arrivals, -1};
    return false;
  }
};

/// A task that could run, ordered as the executor's ready queue orders them.
struct UrgentTask {
  int priority = 0;           ///< smaller first
  std::uint32_t hop = 0;      ///< then larger first
  std::uint64_t arrival = 0;  ///< then earlier first; never 0 in a queue
  std::uint32_t task = 0;
};

class UrgentQueue {
 public:
  bool empty() const { return heap_.empty(); }
  const UrgentTask& top() const { return heap_.front(); }

  void push(const UrgentTask& task) {
    heap_.push_back(task);
    std::push_heap(heap_.begin(), heap_.end(), after);
  }

  UrgentTask pop() {
    std::pop_heap(heap_.begin(), heap_.end(), after);
    const UrgentTask task = heap_.back();
    heap_.pop_back();
    return task;
  }

 private:
  static bool after(const UrgentTask& a, const UrgentTask& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    return a.hop != b.hop ? a.hop < b.hop : a.arrival > b.arrival;
  }

  std::vector<UrgentTask> heap_;
};

}  // namespace casync
