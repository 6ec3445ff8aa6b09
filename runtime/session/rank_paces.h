// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace casync::runtime {

/// The time that a rank's program computes in a step, without waiting: of its last steps.
struct Pace {
  double median_s = 0;
  double scatter_s = 0;  ///< from the lower quartile of the steps to the upper one
  int steps = 0;         ///< that these are of
};

/// A pace as bytes for a goodbye.
std::string encode_pace(const Pace& pace);
/// Nothing: not the bytes of a pace.
std::optional<Pace> decode_pace(std::string_view bytes);

/// The pace of this rank, which it tells rank 0 with its goodbye, and the paces that rank 0 was told. Any thread.
class RankPaces {
 public:
  void set_own(std::optional<Pace> pace);
  /// Last words for rank 0; "": there are none.
  std::string words() const;
  /// A rank said goodbye with these words for rank 0.
  void left(Rank rank, std::string_view words);
  /// The others that said goodbye; nothing: such a rank recorded no pace.
  std::map<Rank, std::optional<Pace>> others() const;

 private:
  mutable std::mutex mutex_;
  std::optional<Pace> own_;
  std::map<Rank, std::optional<Pace>> others_;
};

}  // namespace casync::runtime
