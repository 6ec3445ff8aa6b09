// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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

/// A stage of a rank's work for one gradient, for ranks that are all alike; stages follow each other. Owners take turns
/// over the ranks, so each rank has the mean of the owners' work; with fewer partitions than ranks, an owner's work
/// beyond that mean is time that passes (`then_s`), not time in which anything is busy. If few ranks own all, a
/// stage has the work of an owner or that of another rank, whichever is more.
struct Stage {
  enum class Kind : std::uint8_t { kEncode, kMerge, kDecode, kSend, kTasks };

  Kind kind{};
  bool between = false;  ///< of a send: over the port between nodes
  bool gathers = false;  ///< once in a round, when all of the previous stage is over; else for each lump
  bool aside = false;    ///< the next stage does not wait for it, only the end does
  std::uint32_t hop = 0;
  double seconds = 0;              ///< in which the codec, or the sending port, is busy
  double tasks_s = 0;              ///< of the codec's seconds, the tasks' fixed cost (Profile::task_s); of kTasks all
  double shared_s = 0;             ///< of the codec's seconds, the part that gradients share in a batch on a device
  double receive_s = 0;            ///< in which the receiving port is busy with as many messages
  bool joins = false;              ///< small messages of all gradients have one receiver, and may leave as one
  double message_s = 0;            ///< of `seconds`, the fixed cost of one message: those that join save it
  double head_s = 0;               ///< until the first byte is at the receiver's port
  double latency_s = 0;            ///< from leaving to arriving
  double then_s = 0;               ///< passes until the next stage
  MessageWorkSeconds work{};       ///< of a send's messages
  MessageWorkSeconds work_each{};  ///< of `work`, the fixed cost of one message: those that join save it
  double bytes = 0, messages = 0;  ///< of a send: of a mean rank
  double busiest = 1;              ///< messages of the busiest rank, by those of a mean one
};

/// Multiplies the work of a stage: all times in which anything is busy.
void repeat(Stage& stage, double times);

struct Outline {
  int rounds = 1;  ///< one after the other, each with as many partitions as ranks, or all there are
  int lumps = 1;   ///< of each round: the pieces in which it is encoded, sent and decoded
  std::vector<Stage> stages;
  std::uint32_t codec = 0;  ///< tells codecs apart

  /// Seconds that one rank is busy in one step, over all stages.
  double codec_s() const;
  double port_s(bool between) const;
  double busiest_port_s() const { return std::max(port_s(false), port_s(true)); }
  double messages_s() const;  ///< for which its processors are busy with messages
  /// From ready to done when nothing else goes on: a lower bound that ignores waiting for other stages'
  /// ports.
  double alone_s() const;
};

/// Returns true if ranks are alike as far as outlines can say: all nodes have the same number of ranks.
bool alike(const Topology& topology);

/// The facts that outlines need about ranks that are alike.
struct AlikeRanks {
  int ranks = 1;
  int nodes = 1;
  double tree_crossing = 0;         ///< of a tree's N - 1 messages each way, those to another node at the busiest rank
  double double_tree_crossing = 0;  ///< the same of a double tree, on average: its ranks are about as busy
};
AlikeRanks alike_ranks(const Topology& topology);

/// The cost of `decision` for `elements` elements on ranks that are alike. `costs` is by Hop, as hop_costs makes it;
/// `task_s` is that of each task, as task_seconds() has it. `scattered`: that of the gradient, and the decision is made
/// by scatter().
Outline outline(const Decision& decision, Elements elements, const AlikeRanks& ranks, const Profile& profile,
                const HopCosts& costs, double task_s, bool scattered = false);

/// The prices of a decision's buffers. PlanError, InvalidArgument: no such codec, or one that the strategy cannot
/// carry.
Result<HopCosts> hop_costs(const Decision& decision, DType dtype, const Profile& profile, const CodecFactsOf& facts_of);

}  // namespace casync
