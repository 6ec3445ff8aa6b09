// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "casync/simulator/engine/work.h"

namespace casync::engine {

struct Engine;

/// Processor work of a rank for a message.
struct MessageWork {
  enum class Kind : std::uint8_t {
    kSend,
    kReceive,
    kAnnounced,  ///< a message asks its receiver
    kAnswered    ///< the receiver has answered
  };
  std::uint32_t first = 0;  ///< task of the message
  int step = 0;             ///< of its sender
  Kind kind{};
  double seconds = 0;
};

/// The processors of each rank that messages take: one work after the other, first come, first served.
class MessageProcessors {
 public:
  explicit MessageProcessors(Engine& engine);

  void add(Rank rank, const MessageWork& work);
  /// Begins the next work, if none is under way, and sets its rate.
  void start(Rank rank);
  bool ends(const Event& event) const { return ranks_[event.subject].work.ends_with(event); }
  void end(Rank rank);
  bool is_busy(Rank rank) const { return ranks_[static_cast<std::size_t>(rank)].work.running(); }

 private:
  struct OfRank {
    Work work{Event::Kind::kMessages};
    double began = 0;
    std::deque<MessageWork> waiting;  ///< the first one is under way
  };

  double rate_of(Rank rank) const;
  OfRank& of(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  Engine& engine_;
  std::vector<OfRank> ranks_;
};

}  // namespace casync::engine
