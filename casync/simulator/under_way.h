// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace casync {

/// The messages under way, of runs that may begin again while their last message is on its way: the next one of the
/// same task leaves when that has arrived. Without a size, no run does, and no message waits.
class UnderWay {
 public:
  void resize(std::size_t tasks) { messages_.resize(tasks); }

  /// A message of `send` is to leave. Returns false if it has to wait for arrive().
  bool leave(std::uint32_t send) {
    if (messages_.empty()) return true;
    return ++messages_[send] == 1;
  }
  /// The message of `send` has arrived. Returns true if the next one waits: it is to leave() now.
  bool arrive(std::uint32_t send) { return !messages_.empty() && std::exchange(messages_[send], std::uint8_t{0}) > 1; }

 private:
  std::vector<std::uint8_t> messages_;  ///< by task: 1: one is under way, 2: and the next one waits
};

}  // namespace casync
