// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/sent_group.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "compll/ops/cpu/convert.h"
#include "runtime/session/session_device.h"

namespace casync::runtime {
namespace {

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
  CASYNC_RETURN_IF_ERROR(members_.check(place, gradient));
  if (members_.has(place)) return Status::ok();
  CASYNC_RETURN_IF_ERROR(memory_->add(place));
  members_.add(place, gradient);
  return Status::ok();
}

Status SentGroup::close(GradientId id) {
  CASYNC_RETURN_IF_ERROR(memory_->allocate(members_.spec().bytes()));
  id_ = id;
  members_.close();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!handed_over_[i] || taken_[i]) CASYNC_RETURN_IF_ERROR(memory_->gather(i, members_.offset_of(i)));
  }
  return Status::ok();
}

Status SentGroup::check(std::size_t place, const Submission& submission, std::uint32_t step, std::uint64_t call) {
  const bool fits = device_.is_host() && submission.device_data.is_null() && submission.stream == nullptr &&
                    members_.fits(place, submission.data);
  if (!fits) CASYNC_RETURN_IF_ERROR(check_memory(device_, members_.spec_of(place), submission));
  return submissions_.check(place, members_.spec_of(place), step, call);
}

Result<bool> SentGroup::gather(std::size_t place, const Submission& submission, std::uint32_t step,
                               std::uint64_t call) {
  const std::size_t there = submissions_.join(step, call);
  if (there == 1) {
    not_finite_in_place_.clear();
    memory_->begin_step();
  }
  CASYNC_RETURN_IF_ERROR(memory_->take(place, submission));
  taken_[place] = true;
  if (!id_) return false;
  CASYNC_RETURN_IF_ERROR(memory_->gather(place, members_.offset_of(place)));
  return there == members_.declared();
}

void SentGroup::take_back(std::size_t place) {
  taken_[place] = false;
  memory_->take_back(place);
}

void SentGroup::submitted(std::size_t place, std::uint32_t step) {
  submissions_.add(place, step);
  handed_over_[place] = taken_[place] = false;
  if (id_ && is_whole(step)) left(step);
}

bool SentGroup::is_called() const { return std::find(taken_.begin(), taken_.end(), true) != taken_.end(); }

void SentGroup::withdraw(std::size_t place, std::uint32_t step) {
  submissions_.remove(place, step);
  handed_over_[place] = true;
  memory_->take_back(place);
  delay_.forget();
}

Result<bool> SentGroup::is_gathered(std::size_t place) const {
  return id_ ? memory_->is_handed_over(place) : Result<bool>(true);
}

std::string SentGroup::missing(std::uint32_t step) const {
  std::string first;
  std::size_t count = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const bool is_declared = members_.has(i);
    if (submissions_.is_in(i, step) || (id_ && !is_declared)) continue;
    if (count++ == 0) first = "`" + members_.name_at(i) + "`" + (is_declared ? "" : ", which was never declared");
  }
  return count > 1 ? first + " and " + std::to_string(count - 1) + " more" : first;
}

Status SentGroup::incomplete(std::uint32_t step, const char* then) const {
  const std::string what = "step " + std::to_string(step) + ": group `" + members_.name() + "` has not been submitted";
  if (!closed_) return {closed_.code(), what + ": " + closed_.message()};
  const std::string lacks = missing(step);
  return invalid_argument(what + (lacks.empty() ? "" : " without ") + lacks + then);
}

Result<bool> SentGroup::has_result(std::size_t place, std::uint32_t step) const {
  if (submissions_.is_past(place, step)) return true;
  return handed_over_[place] ? memory_->is_handed_over(place) : false;
}

Status SentGroup::hand_over(std::size_t place, bool is_finite) {
  if (handed_over_[place]) return Status::ok();
  CASYNC_CHECK(id_);
  if (const View own = memory_->in_place(place); own.size > 0 && !is_finite) look_at_in_place(place, own);
  CASYNC_RETURN_IF_ERROR(memory_->hand_over(place, members_.offset_of(place)));
  handed_over_[place] = true;
  if (!device_.is_host()) handed_over_at_[place] = Clock::now();
  return Status::ok();
}

/// Later the program may have written it, or freed it.
void SentGroup::look_at_in_place(std::size_t place, View result) {
  const DType dtype = members_.whole().dtype;
  if (all_finite(dtype, result.data, result.size / bytes_of(dtype))) return;
  const std::string& name = members_.name_at(place);
  if (not_finite_in_place_.empty() || name < not_finite_in_place_) not_finite_in_place_ = name;
}

Result<bool> SentGroup::hand_over_all(bool is_finite) {
  for (std::size_t i = 0; i < members_.size(); ++i) CASYNC_RETURN_IF_ERROR(hand_over(i, is_finite));
  return copies_are_over();
}

Result<bool> SentGroup::copies_are_over() const {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!members_.has(i)) continue;
    const Result<bool> there = memory_->is_handed_over(i);
    if (!there || !*there) return there;
  }
  return true;
}

Result<std::string> SentGroup::not_finite() const {
  std::vector<std::byte> all;
  CASYNC_RETURN_IF_ERROR(memory_->read(&all));
  if (all.empty()) return not_finite_in_place_;
  std::string first;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const GradientSpec& member = members_.spec_of(i);
    if (!members_.has(i) || (!first.empty() && first < member.name)) continue;
    if (!all_finite(member.dtype, all.data() + members_.offset_of(i), member.elements())) first = member.name;
  }
  return first;
}

void SentGroup::forget() {
  submissions_.forget();
  delay_.forget();
  left_steps_ = 0;
  std::fill(handed_over_.begin(), handed_over_.end(), true);
  std::fill(taken_.begin(), taken_.end(), false);
}

}  // namespace casync::runtime
