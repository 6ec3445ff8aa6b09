// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "casync/simulator/outline.h"
#include "casync/simulator/outlines/message_costs.h"
#include "casync/simulator/outlines/outline_shape.h"
#include "casync/simulator/outlines/partition_costs.h"

namespace casync {

/// Writes the stages of one gradient. Each strategy's outline is a sequence of these calls, in the order of the
/// gradient's way; costs are those of one round, and finish() deals them out over its lumps.
class OutlineWriter {
 public:
  using Kind = Stage::Kind;

  OutlineWriter(const Decision& decision, Elements elements, const AlikeRanks& ranks, const Profile& profile,
                const HopCosts& costs, double task_s);

  Outline finish() &&;

  const OutlineShape& shape() const { return shape_; }
  const PartitionCosts& costs() const { return costs_; }
  const MessageCosts& messages() const { return messages_; }
  const Profile& profile() const { return profile_; }
  bool tasks_cost() const { return task_s_ > 0; }

  /// Puts the next tasks on the next hop.
  void next_hop() { hop_ += 1; }
  /// Ranks send all the time, without waiting for each other.
  void send_all_the_time() { all_the_time_ = true; }

  /// `times` tasks of `seconds` each.
  Stage& codec(Kind kind, double times, double seconds, double then = 0);
  /// The same of merges that wait for all of the round, on the next hop.
  Stage& gathering(double times, double seconds, double then);
  /// Number of ports of `ranks` others, which fill their nodes.
  int ports_of(bool between, int ranks) const;
  /// `count` messages in a round, to `ports` others and from as many. A node's ranks take turns at a port that they
  /// share.
  Stage& send(bool between, double count, Bytes bytes, double then, int ports);
  /// Sends to owners, or from them. If a rank owns less than a partition, the owner's port is busy for longer.
  void with_owners(Bytes bytes, bool from_owner);

 private:
  int meeting(int ports) const;
  void serve(bool between, int peers, Bytes bytes, double then, bool from_owner);
  void add_message_tasks();

  const Profile& profile_;
  const double task_s_;
  const OutlineShape shape_;
  const PartitionCosts costs_;
  const MessageCosts messages_;
  bool all_the_time_ = false;
  std::uint32_t hop_ = 0;
  Outline made_;
};

}  // namespace casync
