// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "casync/model/topology.h"
#include "casync/simulator/costs.h"
#include "casync/simulator/flat_tasks.h"
#include "casync/simulator/profile.h"

namespace casync {

/// Processor seconds of messages at their sender and at their receiver.
struct MessageWorkSeconds {
  double send_s = 0, receive_s = 0;
};

/// What one of many ranks that are all alike does for one gradient, as stages that follow each other. Owners take turns
/// over the ranks, so each rank has the mean of what owners do; where there are fewer partitions than ranks, what an
/// owner does longer than that mean is time that passes (`then_s`), not time that anything is busy.
struct Stage {
  enum class Kind : std::uint8_t { kEncode, kMerge, kDecode, kSend, kTasks };

  Kind kind{};
  bool between = false;  ///< of a send: over the port between nodes
  bool gathers = false;  ///< once in a round, when all of the stage before it is over; else for each lump
  bool aside = false;    ///< the next stage does not wait for it, only the end does
  std::uint32_t hop = 0;
  double seconds = 0;              ///< that the codec, or the sending port, is busy
  double tasks_s = 0;              ///< of the codec's seconds, what its tasks cost beside what they do; of kTasks all
  double receive_s = 0;            ///< that the receiving port is busy with as many messages
  bool joins = false;              ///< small messages of all gradients have one receiver, and may leave as one
  double message_s = 0;            ///< of `seconds`, what one message costs however small: those that join save it
  double head_s = 0;               ///< until the first byte is at the receiver's port
  double latency_s = 0;            ///< from leaving to arriving
  double then_s = 0;               ///< passes before the next stage
  MessageWorkSeconds work{};       ///< of a send's messages
  MessageWorkSeconds work_each{};  ///< of `work`, what one costs however small: those that join save it
  double bytes = 0, messages = 0;
};

/// The stage done so many times: all that anything is busy with.
void repeat(Stage& stage, double times);

struct Outline {
  int rounds = 1;  ///< one after the other, each with as many partitions as ranks, or all there are
  int lumps = 1;   ///< of each round: what is encoded, sent and decoded piece by piece
  std::vector<Stage> stages;

  /// Seconds that one rank is busy in one step, over all stages.
  double codec_s() const;
  double port_s(bool between) const;
  double messages_s() const;  ///< its processors, with messages
  /// From ready to done when nothing else goes on: a lower bound that leaves out that stages wait for each other's
  /// ports.
  double alone_s() const;
};

/// Whether ranks are alike as far as outlines can say: all nodes have the same number of ranks.
bool alike(const Topology& topology);

/// What outlines need to know of ranks that are alike.
struct AlikeRanks {
  int ranks = 1;
  int nodes = 1;
  double tree_crossing = 0;  ///< of a tree's N - 1 messages each way, how many go to another node at the busiest rank
};
AlikeRanks alike_ranks(const Topology& topology);

/// What `decision` costs for `elements` elements on ranks that are alike. `costs` is by Hop, as hop_costs makes it.
Outline outline(const Decision& decision, Elements elements, const AlikeRanks& ranks, const Profile& profile,
                const HopCosts& costs);

/// The prices of a decision's buffers. PlanError, InvalidArgument: no such codec, or one that the strategy cannot
/// carry.
Result<HopCosts> hop_costs(const Decision& decision, DType dtype, const Profile& profile, const CodecFactsOf& facts_of);

}  // namespace casync
