// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace casync::runtime {

/// A rank's words with its goodbye: its caller's bytes.
struct LastWords {
  std::string to_all = {};  ///< kMostLastWords at most
  std::string to_hub = {};  ///< for rank 0 alone, kMostHubWords at most; the others get none
};

}  // namespace casync::runtime
