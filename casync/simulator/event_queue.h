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

}  // namespace casync
