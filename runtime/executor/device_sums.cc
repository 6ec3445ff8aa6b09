// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/device_sums.h"

#include <algorithm>
#include <utility>

#include "runtime/executor/untold_sums.h"

namespace casync::runtime {
namespace {

// Elements of each array that are on the host at a time.
constexpr Elements kLevelled = 64 * 1024;

View view_of(std::span<float> floats) {
  return {reinterpret_cast<std::byte*>(floats.data()), floats.size() * sizeof(float)};
}

DeviceView piece(DeviceView floats, Elements first, Elements count) {
  return floats.slice(first * sizeof(float), count * sizeof(float));
}

}  // namespace

DeviceSums::DeviceSums(int ranks, Elements elements, bool residuals)
    : elements_(elements), residuals_(residuals), ranks_(static_cast<std::size_t>(ranks)) {}

Status DeviceSums::lie_at(DeviceView memory, Device& device) {
  device_ = &device;
  Elements at = 0;
  const auto take = [&] { return piece(memory, std::exchange(at, at + elements_), elements_); };
  for (SumOfRank& one : ranks_) {
    const DeviceView sum = take();
    const DeviceView residual = residuals_ ? take() : DeviceView();
    one.lie_at(sum, residual, residuals_ ? take() : DeviceView());
  }
  return write(nullptr);
}

void DeviceSums::took(bool added, bool left_out) {
  for (SumOfRank& one : ranks_) one.took(added, left_out);
}

/// Piece by piece: sums are doubles, in the order of ranks.
Status DeviceSums::level(Memory array, const std::vector<bool>& counts) {
  const Elements most = std::min(elements_, kLevelled);
  std::vector<float> floats(ranks_.size() * most);
  std::vector<float*> arrays;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) arrays.push_back(floats.data() + rank * most);
  for (Elements first = 0; first < elements_; first += most) {
    const Elements count = std::min(most, elements_ - first);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const SumOfRank& one = ranks_[rank];
      if (array == &SumOfRank::memory && one.is_empty()) {
        std::fill_n(arrays[rank], count, 0.0f);
      } else {
        CASYNC_RETURN_IF_ERROR(device_->read(piece((one.*array)(), first, count), view_of({arrays[rank], count})));
      }
    }
    level_arrays(arrays, counts, count);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const DeviceView to = piece((ranks_[rank].*array)(), first, count);
      CASYNC_RETURN_IF_ERROR(device_->write(view_of({arrays[rank], count}), to));
    }
  }
  return Status::ok();
}

Status DeviceSums::level(const std::vector<bool>& counts) {
  CASYNC_RETURN_IF_ERROR(level(&SumOfRank::memory, counts));
  for (SumOfRank& one : ranks_) one.begin(false);
  return residuals_ ? level(&SumOfRank::residual, counts) : Status::ok();
}

Status DeviceSums::read(float* to) const {
  const SumOfRank& one = ranks_.front();
  if (one.is_empty()) {
    std::fill_n(to, elements_, 0.0f);
  } else {
    CASYNC_RETURN_IF_ERROR(device_->read(one.memory(), view_of({to, elements_})));
  }
  return residuals_ ? device_->read(one.residual(), view_of({to + elements_, elements_})) : Status::ok();
}

Status DeviceSums::write(const float* from) {
  std::vector<float> all(elements_ * (residuals_ ? 2 : 1));
  if (from != nullptr) std::copy_n(from, all.size(), all.data());
  for (SumOfRank& one : ranks_) {
    one.begin(from == nullptr);
    if (from != nullptr) CASYNC_RETURN_IF_ERROR(device_->write(view_of({all.data(), elements_}), one.memory()));
    if (residuals_) {
      CASYNC_RETURN_IF_ERROR(device_->write(view_of({all.data() + elements_, elements_}), one.residual()));
    }
  }
  return Status::ok();
}

}  // namespace casync::runtime
