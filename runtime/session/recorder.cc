// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/recorder.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>

#include "base/median.h"

namespace casync::runtime {
namespace {

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

/// The median of the values that are not NaN; 0 if there is none.
double median_of_known(std::span<const double> values) {
  std::vector<double> known;
  std::copy_if(values.begin(), values.end(), std::back_inserter(known),
               [](double value) { return !std::isnan(value); });
  return median(std::move(known));
}

}  // namespace

double Recorder::program_seconds(Clock::time_point now) const {
  const double standing = waiting_ > 0 ? seconds(now - std::max(waiting_since_, begun_)) : 0;
  return std::max(0.0, seconds(now - begun_) - waited_ - standing);
}

Recorder::Moments& Recorder::moments(std::size_t gradient) {
  if (now_.size() <= gradient) now_.resize(gradient + 1);
  return now_[gradient];
}

void Recorder::submitted(std::size_t gradient, Clock::time_point now) {
  Moments& own = moments(gradient);
  if (std::isnan(own.ready)) ++count_;  // or a call that was refused is made again
  own.ready = program_seconds(now);
}

void Recorder::needs(std::size_t gradient, Clock::time_point now) {
  Moments& own = moments(gradient);
  // A gradient that was not submitted in this step is not needed in it.
  if (!std::isnan(own.ready) && std::isnan(own.need)) own.need = program_seconds(now);
}

void Recorder::waits(std::size_t gradient, Clock::time_point now) {
  needs(gradient, now);
  stands_still(now);
}

void Recorder::stands_still(Clock::time_point now) {
  if (waiting_++ == 0) waiting_since_ = now;
}

void Recorder::goes_on(Clock::time_point now) {
  if (--waiting_ == 0) waited_ += seconds(now - std::max(waiting_since_, begun_));
}

double& Recorder::kept(std::size_t gradient, int which, int step) {
  return kept_[(gradient * 2 + static_cast<std::size_t>(which)) * kKept + static_cast<std::size_t>(step % kKept)];
}

void Recorder::step_ended(Clock::time_point now) {
  const std::size_t room = now_.size() * 2 * kKept;
  if (count_ > most_ || (count_ == most_ && kept_.size() != room)) {
    most_ = count_;
    steps_ = 0;
    kept_.assign(room, kNever);
    passes_.assign(std::size_t{2} * kKept, kNever);
  }
  if (count_ == most_ && count_ > 0) {
    double backward = 0;
    for (const Moments& own : now_) backward = std::max(backward, std::isnan(own.ready) ? 0 : own.ready);
    const double all = std::max(computed_, backward);
    for (std::size_t i = 0; i < now_.size(); ++i) {
      if (std::isnan(now_[i].ready)) continue;
      kept(i, 0, steps_) = now_[i].ready;
      kept(i, 1, steps_) = std::clamp((std::isnan(now_[i].need) ? all : now_[i].need) - backward, 0.0, all - backward);
    }
    const auto turn = static_cast<std::size_t>(steps_ % kKept);
    passes_[turn] = backward;
    passes_[kKept + turn] = all - backward;
    ++steps_;
  }
  last_ = computed_;
  std::fill(now_.begin(), now_.end(), Moments{});
  count_ = 0;
  waited_ = computed_ = 0;
  begun_ = now;
}

std::optional<Training> Recorder::training(std::span<const GradientSpec> gradients) const {
  if (steps_ == 0) return std::nullopt;
  Training training;
  const std::span<const double> passes(passes_), all(kept_);
  training.backward_s = median_of_known(passes.first(kKept));
  training.forward_s = median_of_known(passes.last(kKept));
  for (std::size_t i = 0; i < gradients.size() && (i + 1) * 2 * kKept <= kept_.size(); ++i) {
    const auto ready = all.subspan(i * 2 * kKept, kKept), need = all.subspan((i * 2 + 1) * kKept, kKept);
    const bool submitted = std::any_of(ready.begin(), ready.end(), [](double moment) { return !std::isnan(moment); });
    if (!submitted) continue;
    training.gradients.push_back({gradients[i], std::min(median_of_known(ready), training.backward_s),
                                  std::min(median_of_known(need), training.forward_s)});
  }
  return training;
}

std::optional<Pace> Recorder::pace() const {
  if (steps_ == 0) return std::nullopt;
  const auto count = static_cast<std::size_t>(std::min(steps_, kKept));
  std::vector<double> whole(count);
  for (std::size_t i = 0; i < count; ++i) whole[i] = passes_[i] + passes_[kKept + i];
  std::sort(whole.begin(), whole.end());
  return Pace{whole[count / 2], whole[3 * count / 4] - whole[count / 4], static_cast<int>(count)};
}

}  // namespace casync::runtime
