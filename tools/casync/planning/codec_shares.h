// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "casync/model/gradient.h"
#include "casync/strategies/strategy.h"

namespace casync::tools {

/// "int8"; of two codecs "int8 + none on the way back".
std::string codecs_of(const Decision& decision);

/// Counts the gradients, and their bytes, of each codec.
class CodecShares {
 public:
  void add(const std::string& codecs, const GradientSpec& spec);

  /// "75 gradients, 35.7 MB: int8 for 43 (99.9 % of the bytes), none for 32 (0.1 %)"; "" without gradients. The codec
  /// of the most bytes comes first.
  std::string text() const;
  nlohmann::ordered_json json() const;

 private:
  struct Share {
    std::string codecs;
    std::size_t gradients = 0;
    double bytes = 0;
  };
  std::vector<Share> shares_;
};

}  // namespace casync::tools
