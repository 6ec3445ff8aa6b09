// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/kept_state.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "compll/codec/kept.h"
#include "compll/ops/cpu/convert.h"

namespace casync::runtime {
namespace {

/// Writes floats as elements of another type, rounded to the nearest.
Status write_floats(Device& device, std::span<const float> values, DType type, DeviceView to) {
  if (type == DType::kFloat32) {
    return device.write({reinterpret_cast<const std::byte*>(values.data()), values.size_bytes()}, to);
  }
  std::vector<std::byte> elements(values.size() * bytes_of(type));
  compll::from_float32(values.data(), values.size(), type, elements.data());
  return device.write({elements.data(), elements.size()}, to);
}

}  // namespace

/// As many arrays as kept_per_element() says.
KeptState::KeptState(const compll::CodecInfo& first, const compll::CodecInfo& second, Elements elements,
                     ResidualMemory memory, std::optional<Elements> floats)
    : elements_(elements), memory_(memory) {
  CASYNC_CHECK(compll::kept_per_element(first, second) <= std::numeric_limits<std::uint8_t>::max());
  const auto add = [&](KeptBy use, const compll::CodecInfo& info) {
    first_[static_cast<std::size_t>(use)] = static_cast<std::uint8_t>(initial_.size());
    initial_.insert(initial_.end(), info.state_initial.begin(), info.state_initial.end());
  };
  if (!first.coded_terms && !second.coded_terms) {
    add(KeptBy::kEncode, first.states != 0 ? first : second);
  } else {
    add(KeptBy::kEncode, first);
    add(KeptBy::kMerge, second);
    if (first.has_result) add(KeptBy::kResult, first);
  }
  CASYNC_CHECK(initial_.size() == compll::kept_per_element(first, second));
  floats_ = floats.value_or(initial_.size() * elements);
}

void KeptState::keep_copies(std::size_t copies) {
  initial_.assign(copies, 0.0f);
  floats_ = copies * elements_;
  is_in_place_ = true;
}

bool KeptState::is_like(const KeptState& other) const {
  return initial_ == other.initial_ && first_ == other.first_ && elements_ == other.elements_;
}

bool KeptState::is_residual() const {
  return initial_.size() <= 1 && std::all_of(initial_.begin(), initial_.end(), [](float value) { return value == 0; });
}

Status KeptState::allocate(Device& device) {
  if (floats_ == 0) return Status::ok();
  const bool is_one = is_in_place_ || memory_ == ResidualMemory::kOneBuffer;
  for (std::size_t i = 0; i < (is_one ? 1 : at_.size()); ++i) {
    Result<std::unique_ptr<DeviceBuffer>> memory = device.allocate(bytes(), Memory::kDevice);
    if (!memory) return memory.status();
    own_[i] = std::move(*memory);
    at_[i] = own_[i]->device().address();
  }
  if (is_one) at_[1] = at_[0];
  return Status::ok();
}

void KeptState::lie_in(std::shared_ptr<DeviceBuffer> block, Bytes at, Bytes distance) {
  block_ = std::move(block);
  for (std::size_t i = 0; i < at_.size(); ++i) at_[i] = block_->device().address() + i * distance + at;
}

Status KeptState::reset(Device& device) {
  std::vector<float> initial(floats_);
  for (std::size_t array = 0; array < initial_.size(); ++array) {
    std::fill_n(initial.begin() + static_cast<std::ptrdiff_t>(array * elements_), elements_, initial_[array]);
  }
  for (const std::uint64_t at : at_) {
    if (at != 0) CASYNC_RETURN_IF_ERROR(write_floats(device, initial, type(), {at, bytes()}));
  }
  return Status::ok();
}

Status KeptState::read(Device& device, std::span<float> to) const {
  CASYNC_CHECK(to.size() == floats_);
  if (floats_ == 0) return Status::ok();
  const DeviceView memory = from(0).in;
  if (type() == DType::kFloat32) return device.read(memory, {reinterpret_cast<std::byte*>(to.data()), to.size_bytes()});
  std::vector<std::byte> values(bytes());
  CASYNC_RETURN_IF_ERROR(device.read(memory, {values.data(), values.size()}));
  compll::to_float32(type(), values.data(), floats_, to.data());
  return Status::ok();
}

Status KeptState::write(Device& device, std::span<const float> values) {
  CASYNC_CHECK(values.size() == floats_);
  return floats_ == 0 ? Status::ok() : write_floats(device, values, type(), from(0).in);
}

}  // namespace casync::runtime
