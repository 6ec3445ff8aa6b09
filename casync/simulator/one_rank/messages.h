// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "casync/simulator/one_rank/clock.h"
#include "casync/simulator/outline.h"

namespace casync {
class OneRank;
}

namespace casync::one_rank {

/// The processors that messages take: one work after the other, first come, first served. A message is named by its
/// first item. It has left when its port and the sender's processors are through with it, and is there when it has come
/// through the network, its sender is through, and the receiver's processors are.
class Messages {
 public:
  explicit Messages(OneRank& rank) : rank_(rank) {}

  void reset();
  /// Begins the next work, if none is under way, and sets its rate: as engine::MessageProcessors.
  void start();
  void end(const Event& event);
  bool is_running() const { return work_.running(); }

  /// These items leave as one message, in the port's seconds.
  void send(std::span<const std::uint32_t> together, MessageWorkSeconds work, double seconds, double head_s,
            double arrives);
  /// Its first byte arrives.
  void head_arrives(std::uint32_t first) { waiting_.push_back({first, false, messages_[first].receive_work_s}); }
  void part_left(std::uint32_t first);
  void part_arrived(std::uint32_t first);

  /// Versions of kArrived's events: a message's, not an item's.
  static constexpr std::uint32_t kPartOfMessage = 1;

 private:
  struct Waiting {
    std::uint32_t first = 0;
    bool sending = false;
    double seconds = 0;
  };
  /// A message that takes processor time: what it still needs to have left and to have arrived.
  struct Message {
    std::uint32_t next = 0;  ///< item that leaves as one with this, or the first one itself: none
    std::uint8_t to_leave = 0, to_arrive = 0;
    double receive_work_s = 0;
  };

  OneRank& rank_;
  Work work_{Event::Kind::kMessages};
  double began_ = 0;
  std::deque<Waiting> waiting_;    // the first one is under way
  std::vector<Message> messages_;  // by item
};

}  // namespace casync::one_rank
