// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/planning/overlap.h"

#include <algorithm>

#include "casync/model/gradient.h"

namespace casync::tools {
namespace {

constexpr double kEnd = 0.02;                ///< the last part of a backward pass that hides nothing worth a word
constexpr double kNearlyAll = 0.9;           ///< of the gradients, and of their bytes
constexpr std::size_t kFewestGradients = 4;  ///< with fewer, the largest may well be the last
constexpr double kWorthOverlap = 1e6;        ///< bytes; fewer take less time than a step varies by
constexpr double kBytesOfBucket = 8e6;       ///< an eighth of a model is a bucket

}  // namespace

std::string text_of_no_overlap(const Training& training) {
  double bytes = 0, late_bytes = 0;
  std::size_t late = 0;
  for (const TrainedGradient& gradient : training.gradients) {
    const auto size = static_cast<double>(gradient.spec.bytes());
    bytes += size;
    if (gradient.ready_s < (1 - kEnd) * training.backward_s) continue;
    late_bytes += size;
    ++late;
  }
  const std::size_t count = training.gradients.size();
  if (count < kFewestGradients || bytes < kWorthOverlap || training.backward_s <= 0) return "";
  if (static_cast<double>(late) < kNearlyAll * static_cast<double>(count) || late_bytes < kNearlyAll * bytes) return "";
  const int megabytes = std::max(1, static_cast<int>(bytes / kBytesOfBucket));
  return std::to_string(late) + " of " + std::to_string(count) +
         " gradients are ready only when the backward pass ends, so hardly anything travels during it: with PyTorch's "
         "DDP, DistributedDataParallel(model, bucket_cap_mb=" +
         std::to_string(megabytes) + ") makes more buckets; then record anew";
}

}  // namespace casync::tools
