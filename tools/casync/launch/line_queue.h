// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace casync::tools {

/// Lines on their way to stdout and stderr, in one order. Writing never waits for a reader, so that one that has
/// stopped holds up nothing but its lines.
class LineQueue {
 public:
  /// Adds a line, whole or the rest of one. Nothing after drop().
  void add(int descriptor, std::string_view line);
  /// Adds a line ahead of those whose writing has not begun, as their reader may have stopped.
  void add_next(int descriptor, std::string_view line);
  /// Writes as much as readers take at once. A reader that is gone is no failure: the work of those who write is worth
  /// more than their output.
  void write();
  /// Forgets all lines, also those that are added later.
  void drop();

  bool empty() const { return texts_.empty(); }
  /// There is no room for more lines, although they are taken.
  bool is_full() const { return bytes_ > kMostBytes; }
  /// The descriptor of the first line, for poll(). To be called while there is one.
  int descriptor() const { return texts_.front().descriptor; }
  /// The last time that the lines moved.
  Clock::time_point moved() const { return moved_; }
  /// The error of lines for which a disk had no room; 0: there are none.
  int error() const { return error_; }

 private:
  static constexpr std::size_t kMostBytes = 256 << 10;

  struct Text {
    int descriptor;
    std::string text;
    std::size_t written = 0;
    bool is_in_line() const { return written > 0 && text[written - 1] != '\n' && text[written - 1] != '\r'; }
  };

  std::deque<Text> texts_;
  std::size_t bytes_ = 0;  ///< that are not written
  bool dropped_ = false;
  int error_ = 0;
  Clock::time_point moved_ = Clock::now();
};

}  // namespace casync::tools
