// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "base/units.h"
#include "base/view.h"
#include "runtime/executor/bundle.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// A bundle from a rank that made it of other gradients than this one, or in a step in which its members began one by
/// one here: they take their parts as they begin.
struct WaitingBundle {
  Rank from = 0;
  Message message;
  std::vector<std::byte> bytes;
  View view;  ///< those, or memory of the arena
  bool in_arena = false;
  std::vector<BundleEntry> entries;  ///< once arrived
  std::vector<bool> done;            ///< by entry
  std::size_t left = 0;
  bool arrived = false;
};

}  // namespace casync::runtime
