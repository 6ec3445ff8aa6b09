// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/untold_sums.h"

#include <algorithm>
#include <utility>

namespace casync::runtime {

void level_arrays(std::span<float* const> arrays, const std::vector<bool>& counts, Elements elements) {
  const auto count = static_cast<double>(std::count(counts.begin(), counts.end(), true));
  for (Elements i = 0; i < elements; ++i) {
    double sum = 0;
    for (std::size_t rank = 0; rank < arrays.size(); ++rank) sum += counts[rank] ? arrays[rank][i] : 0;
    const auto mean = static_cast<float>(sum / count);
    for (float* const one : arrays) one[i] = mean;
  }
}

UntoldSums::UntoldSums(int ranks, Elements elements, bool residuals)
    : elements_(elements), residuals_(residuals), ranks_(static_cast<std::size_t>(ranks)) {}

void UntoldSums::lie_at(float* memory) {
  for (OfRank& one : ranks_) {
    one.sum = std::exchange(memory, memory + elements_);
    if (residuals_) one.residual = std::exchange(memory, memory + elements_);
  }
  if (residuals_) spare_ = memory;
  write(nullptr);
}

void UntoldSums::add(const float* contribution) {
  for (OfRank& one : ranks_) {
    if (one.ended) continue;
    if (std::exchange(one.empty, false)) {
      std::copy_n(contribution, elements_, one.sum);
    } else {
      for (Elements i = 0; i < elements_; ++i) one.sum[i] += contribution[i];
    }
  }
}

void UntoldSums::leave_out() {
  for (OfRank& one : ranks_) one.whole = false;
}

/// Makes an empty sum zeros.
void UntoldSums::fill(OfRank& one) {
  if (std::exchange(one.empty, false)) std::fill_n(one.sum, elements_, 0.0f);
}

compll::Encoded UntoldSums::answer(Rank rank, const compll::Codec& first, const compll::Codec& second, float scale,
                                   const compll::EncodeContext& context, std::byte* payload) {
  OfRank& one = of(rank);
  fill(one);
  if (!std::exchange(one.whole, true)) {
    // The scale 0 makes zeros of what is finite, and the residual is not read.
    compll::Encoded nothing = second.encode_sum(one.sum, 0, elements_, {}, context, payload);
    nothing.finite = false;
    return nothing;
  }
  const compll::Contribution sum{{}, one.sum};
  compll::Residual residual;
  if (residuals_) residual = {one.residual, spare_, elements_};
  const compll::Encoded made = first.merge({&sum, 1}, elements_, scale, second, residual, context, payload);
  if (made.finite && residuals_) std::swap(one.residual, spare_);
  one.empty = true;
  return made;
}

void UntoldSums::level(const std::vector<bool>& counts) {
  std::vector<float*> sums, residuals;
  for (OfRank& one : ranks_) {
    fill(one);
    one.whole = true;
    sums.push_back(one.sum);
    residuals.push_back(one.residual);
  }
  level_arrays(sums, counts, elements_);
  if (residuals_) level_arrays(residuals, counts, elements_);
}

void UntoldSums::read(float* to) const {
  const OfRank& one = ranks_.front();
  if (one.empty) {
    std::fill_n(to, elements_, 0.0f);
  } else {
    std::copy_n(one.sum, elements_, to);
  }
  if (residuals_) std::copy_n(one.residual, elements_, to + elements_);
}

void UntoldSums::write(const float* from) {
  for (OfRank& one : ranks_) {
    one.empty = from == nullptr;
    one.whole = true;
    if (from != nullptr) std::copy_n(from, elements_, one.sum);
    if (residuals_ && from == nullptr) std::fill_n(one.residual, elements_, 0.0f);
    if (residuals_ && from != nullptr) std::copy_n(from + elements_, elements_, one.residual);
  }
}

}  // namespace casync::runtime
