// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/call_answer.h"

#include <memory>
#include <string>
#include <utility>

namespace casync::runtime {

void CallAnswer::expect(BlobRef own) {
  blobs_.assign(static_cast<std::size_t>(ranks_), nullptr);
  blobs_[static_cast<std::size_t>(self_)] = std::move(own);
  missing_ = ranks_ - 1;
}

Result<std::optional<std::vector<BlobRef>>> CallAnswer::take(const Gathered& gathered) {
  using All = std::optional<std::vector<BlobRef>>;
  if (gathered.rank == self_) return All();
  const auto place = static_cast<std::size_t>(gathered.rank);
  if (missing_ == 0 || blobs_[place] != nullptr) return data_loss("a blob that nobody asked for");
  blobs_[place] = std::make_shared<const std::string>(gathered.blob);
  return --missing_ == 0 ? All(std::move(blobs_)) : All();
}

}  // namespace casync::runtime
