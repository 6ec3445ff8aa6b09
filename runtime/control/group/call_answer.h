// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/status.h"
#include "runtime/control/group/gather_book.h"
#include "runtime/control/group/messages.h"

namespace casync::runtime {

/// The answer that a member waits for in a collective call: the blobs of all ranks, one by one. Plain data.
class CallAnswer {
 public:
  CallAnswer(Rank self, int ranks) : self_(self), ranks_(ranks) {}

  /// A call with this rank's blob is on its way.
  void expect(BlobRef own);
  bool is_expected() const { return missing_ != 0; }
  /// The answer has come otherwise, or never will.
  void drop() {
    missing_ = 0;
    blobs_.clear();
  }

  /// Takes one rank's blob, and hands all of them over, by rank, with the last one. DataLoss: nobody asked for it.
  Result<std::optional<std::vector<BlobRef>>> take(const Gathered& gathered);

 private:
  Rank self_;
  int ranks_;
  std::vector<BlobRef> blobs_;
  int missing_ = 0;
};

}  // namespace casync::runtime
