// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "tools/casync/launch/line_queue.h"

namespace casync::tools {

/// Passes on a rank's output, line by line and each after its prefix, so that lines of several ranks never
/// mix. '\r' ends a line too: progress bars stay alive.
class PrefixedLines {
 public:
  /// Adds to `queue`, which outlives it, for `descriptor`.
  PrefixedLines(std::string prefix, LineQueue& queue, int descriptor)
      : prefix_(std::move(prefix)), queue_(&queue), descriptor_(descriptor) {}

  void feed(std::string_view text);
  /// Passes on what has no line end yet, with one. Also done once a line grows past 64 KiB.
  void flush();

 private:
  void put(std::string_view line) { queue_->add(descriptor_, prefix_ + std::string(line)); }

  std::string prefix_;
  LineQueue* queue_;
  int descriptor_;
  std::string pending_;
};

}  // namespace casync::tools
