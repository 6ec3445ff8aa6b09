// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/device_moments.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace casync::runtime {
namespace {

// A step of a program that asks again and again is not recorded.
constexpr std::size_t kMostEvents = 64, kMostOfGradient = 8;

Clock::time_point at(Clock::time_point begin, double seconds) {
  return begin + std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
}

}  // namespace

/// Gradients that one call submits from one stream share an event.
void DeviceMoments::submitted(std::span<const Submission> submissions) {
  Step& step = steps_[current_];
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    const auto gradient = static_cast<std::size_t>(submissions[i].gradient);
    if (reached_.size() <= gradient) reached_.resize(gradient + 1);
    reached_[gradient] = Reached::kSubmitted;
    stream_ = submissions[i].stream;
    const bool shares = i > 0 && submissions[i - 1].stream == *stream_;
    if (step.used == 0 || (!shares && !put_event(step, *stream_))) continue;
    step.moments.push_back({Kind::kSubmitted, gradient, step.used - 1});
  }
}

void DeviceMoments::needs(std::size_t gradient) {
  if (gradient >= reached_.size() || reached_[gradient] != Reached::kSubmitted) return;
  reached_[gradient] = Reached::kNeeded;
  note(Kind::kNeeds, gradient);
}

void DeviceMoments::waits(std::size_t gradient) {
  ++waiting_;
  if (gradient < reached_.size()) reached_[gradient] = Reached::kNeeded;
  note(Kind::kWaits, gradient);
}

void DeviceMoments::stands_still() {
  ++waiting_;
  note(Kind::kStandsStill);
}

void DeviceMoments::goes_on() {
  --waiting_;
  note(Kind::kGoesOn);
}

void DeviceMoments::step_ended() {
  note(Kind::kStepEnded);
  take_over();
  if (steps_[current_].used > 0 && !ended_) {
    ended_ = true;
    current_ = 1 - current_;
  }
  begin_step();
}

const Recorder& DeviceMoments::recorder() {
  take_over();
  return recorder_;
}

void DeviceMoments::note(Kind kind, std::size_t gradient) {
  Step& step = steps_[current_];
  if (step.used == 0 || !put_event(step, *stream_)) return;
  step.moments.push_back({kind, gradient, step.used - 1});
}

/// Records the step's next event. False: it cannot be, and the step is forgotten.
bool DeviceMoments::put_event(Step& step, void* stream) {
  const bool has_room = step.used < kMostEvents + kMostOfGradient * reached_.size();
  if (has_room && step.used == step.events.size()) {
    Result<std::unique_ptr<Event>> event = device_.make_timed_event();
    if (event) step.events.push_back(std::move(*event));
  }
  // In a stream that is captured it would be the graph's event, and asking it would end the capture.
  const bool goes = has_room && step.used < step.events.size() && device_.check_stream(stream);
  if (goes && device_.record(*step.events[step.used], stream)) {
    ++step.used;
    return true;
  }
  forget(step);
  return false;
}

void DeviceMoments::begin_step() {
  std::fill(reached_.begin(), reached_.end(), Reached::kNothing);
  Step& step = steps_[current_];
  forget(step);
  step.waiting = waiting_;
  if (stream_) static_cast<void>(put_event(step, *stream_));
}

void DeviceMoments::forget(Step& step) {
  step.used = 0;
  step.moments.clear();
}

/// Tells the recorder of the step that has ended, if the device has, too.
void DeviceMoments::take_over() {
  if (!ended_) return;
  Step& step = steps_[1 - current_];
  if (!is_over(step)) return;
  tell(step);
  forget(step);
  ended_ = false;
}

/// Finds the seconds of its events. A step of a device that has failed is not over.
bool DeviceMoments::is_over(const Step& step) {
  seconds_.clear();
  for (std::size_t i = step.used; i-- > 0;) {  // the last ones come last
    const Result<bool> done = step.events[i]->done();
    if (!done || !*done) return false;
  }
  for (std::size_t i = 0; i < step.used; ++i) {
    const Result<double> seconds = device_.seconds_between(*step.events[0], *step.events[i]);
    if (!seconds) return false;
    seconds_.push_back(*seconds);
  }
  return true;
}

void DeviceMoments::tell(const Step& step) {
  const Clock::time_point begin = told_until_;
  // Between the last step that was told and this one there may be others.
  for (; told_waiting_ < step.waiting; ++told_waiting_) recorder_.stands_still(begin);
  for (; told_waiting_ > step.waiting; --told_waiting_) recorder_.goes_on(begin);
  for (const Moment& moment : step.moments) {
    const Clock::time_point now = at(begin, seconds_[moment.event]);
    switch (moment.kind) {
      case Kind::kSubmitted: recorder_.submitted(moment.gradient, now); break;
      case Kind::kNeeds: recorder_.needs(moment.gradient, now); break;
      case Kind::kWaits: recorder_.waits(moment.gradient, now); break;
      case Kind::kStandsStill: recorder_.stands_still(now); break;
      case Kind::kGoesOn: recorder_.goes_on(now); break;
      case Kind::kComputed: recorder_.computed(now); break;
      case Kind::kStepEnded: recorder_.step_ended(told_until_ = now); break;
    }
    if (moment.kind == Kind::kWaits || moment.kind == Kind::kStandsStill) ++told_waiting_;
    if (moment.kind == Kind::kGoesOn) --told_waiting_;
  }
}

}  // namespace casync::runtime
