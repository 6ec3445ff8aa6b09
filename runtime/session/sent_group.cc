// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/sent_group.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "compll/ops/cpu/convert.h"
#include "runtime/session/declarations.h"
#include "runtime/session/session_device.h"

namespace casync::runtime {
namespace {

bool is_same(const GradientSpec& a, const GradientSpec& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.priority == b.priority;
}

bool all_finite(DType dtype, const std::byte* memory, Elements count) {
  std::array<float, 1024> values;
  for (Elements at = 0; at < count; at += values.size()) {
    const Elements part = std::min<Elements>(values.size(), count - at);
    compll::to_float32(dtype, memory + at * bytes_of(dtype), part, values.data());
    const auto is_finite = [](float value) { return std::isfinite(value); };
    if (!std::all_of(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(part), is_finite)) return false;
  }
  return true;
}

}  // namespace

Status SentGroup::declare(std::size_t place, const GradientSpec& gradient) {
  Place& own = places_[place];
  const auto refused = [&](const std::string& why) {
    return invalid_argument("gradient " + gradient.name + ": " + why);
  };
  if (own.is_declared) {
    if (is_same(own.spec, gradient)) return Status::ok();
    return refused("it was declared with another shape, type or priority before");
  }
  if (id_) {
    return refused("group " + name() + " has been sent without it: declare all of a group before the first step ends");
  }
  CASYNC_RETURN_IF_ERROR(check_shape(gradient));
  for (const Place& other : places_) {
    if (!other.is_declared || other.spec.dtype == gradient.dtype) continue;
    return refused(std::string(name_of(gradient.dtype)) + ", and " + other.spec.name + ", which is in group " + name() +
                   " with it, is " + std::string(name_of(other.spec.dtype)) + ": a group has one type");
  }
  CASYNC_RETURN_IF_ERROR(memory_->add(place));
  own.spec = gradient;
  own.is_declared = true;
  ++declared_;
  return Status::ok();
}

GradientSpec SentGroup::spec() const {
  GradientSpec whole;
  whole.name = name();
  Elements elements = 0;
  for (const Place& place : places_) {
    if (!place.is_declared) continue;
    const bool first = whole.members.empty();
    whole.dtype = place.spec.dtype;
    whole.priority = first ? place.spec.priority : std::min(whole.priority, place.spec.priority);
    whole.members.push_back({place.spec.name, place.spec.shape});
    elements += place.spec.elements();
  }
  whole.shape = {static_cast<std::int64_t>(elements)};
  return whole;
}

Status SentGroup::close(GradientId id, GradientSpec spec) {
  CASYNC_RETURN_IF_ERROR(memory_->allocate(spec.bytes()));
  id_ = id;
  whole_ = std::move(spec);
  Bytes offset = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    if (!place.is_declared) continue;
    place.offset = offset;
    offset += place.spec.bytes();
    if (!place.handed_over) CASYNC_RETURN_IF_ERROR(memory_->gather(i, place.offset));
  }
  return Status::ok();
}

Status SentGroup::check(std::size_t place, const Submission& submission, std::uint32_t step, std::uint64_t call) {
  Place& own = places_[place];
  CASYNC_RETURN_IF_ERROR(check_memory(device_, own.spec, submission));
  if (own.steps == step + 1) return submitted_twice(own.spec, step);
  if (own.call == call) return invalid_argument("gradient " + own.spec.name + " is twice in one submission");
  own.call = call;
  return Status::ok();
}

Result<bool> SentGroup::gather(std::size_t place, const Submission& submission, std::uint32_t step,
                               std::uint64_t call) {
  if (std::exchange(call_, call) != call) joining_ = 0;
  ++joining_;
  CASYNC_RETURN_IF_ERROR(memory_->take(place, submission));
  if (!id_) return false;
  CASYNC_RETURN_IF_ERROR(memory_->gather(place, places_[place].offset));
  return submitted_in(step) + joining_ == declared_;
}

void SentGroup::submitted(std::size_t place, std::uint32_t step) {
  Place& own = places_[place];
  own.steps = step + 1;
  own.handed_over = false;
  submitted_ = submitted_in(step) + 1;
  steps_ = step + 1;
}

std::string SentGroup::missing(std::uint32_t step) const {
  std::string first;
  std::size_t count = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    if (place.steps == step + 1 || (id_ && !place.is_declared)) continue;
    if (count++ == 0) first = "`" + group_.gradients[i] + "`" + (place.is_declared ? "" : ", which was never declared");
  }
  return count > 1 ? first + " and " + std::to_string(count - 1) + " more" : first;
}

Result<bool> SentGroup::has_result(std::size_t place, std::uint32_t step) const {
  if (places_[place].steps > step + 1) return true;
  return places_[place].handed_over ? memory_->is_handed_over(place) : false;
}

Status SentGroup::hand_over(std::size_t place) {
  Place& own = places_[place];
  if (own.handed_over) return Status::ok();
  CASYNC_CHECK(id_);
  CASYNC_RETURN_IF_ERROR(memory_->hand_over(place, own.offset));
  own.handed_over = true;
  return Status::ok();
}

Result<bool> SentGroup::hand_over_all() {
  for (std::size_t i = 0; i < places_.size(); ++i) CASYNC_RETURN_IF_ERROR(hand_over(i));
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (!places_[i].is_declared) continue;
    const Result<bool> there = memory_->is_handed_over(i);
    if (!there || !*there) return there;
  }
  return true;
}

Result<std::string> SentGroup::not_finite() const {
  std::vector<std::byte> all;
  CASYNC_RETURN_IF_ERROR(memory_->read(&all));
  std::string first;
  for (const Place& place : places_) {
    if (!place.is_declared || (!first.empty() && first < place.spec.name)) continue;
    if (!all_finite(place.spec.dtype, all.data() + place.offset, place.spec.elements())) first = place.spec.name;
  }
  return first;
}

Status SentGroup::check_none_in(const SessionState& state) const {
  for (const std::string& member : group_.gradients) {
    if (!state.gradients.contains(member)) continue;
    return invalid_argument("gradient " + member + ": the state has it, and no gradient of group " + name() +
                            " is declared here: declare them, then load the state");
  }
  return Status::ok();
}

void SentGroup::forget() {
  steps_ = 0;
  submitted_ = 0;
  call_ = 0;
  for (Place& place : places_) {
    place.steps = 0;
    place.call = 0;
    place.handed_over = true;
  }
}

}  // namespace casync::runtime
