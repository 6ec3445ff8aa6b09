// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "casync/simulator/outline.h"

namespace casync {

/// Writes the stages of one gradient. Each strategy's outline is a sequence of these calls, in the order of the
/// gradient's way; costs are those of one round, and finish() deals them out over its lumps.
class OutlineWriter {
 public:
  using Kind = Stage::Kind;

  OutlineWriter(const Decision& decision, Elements elements, const AlikeRanks& ranks, const Profile& profile,
                const HopCosts& costs, double task_s);

  Outline finish() &&;

  int ranks() const { return ranks_; }
  int owners() const { return owners_; }  ///< ranks that own partitions
  int contributors() const { return contributors_; }
  int nodes() const { return nodes_; }
  int each() const { return each_; }                  ///< ranks of a node
  double tree_crossing() const { return crossing_; }  ///< both as AlikeRanks
  double double_tree_crossing() const { return double_crossing_; }
  const Profile& profile() const { return profile_; }
  bool tasks_cost() const { return task_s_ > 0; }
  int lumps() const { return made_.lumps; }

  double of_round() const { return of_round_; }       ///< partitions in a round
  double share() const { return share_; }             ///< of these, as many as an owner owns
  double rest() const { return rest_of(share_); }     ///< the part of an owner's work that is beyond the mean
  static double rest_of(double share);                ///< the same of a rank that does something for so many
  Bytes there() const { return bytes(Hop::kFirst); }  ///< of a partition in the first codec
  Bytes back() const { return bytes(Hop::kSecond); }  ///< and in the second
  Bytes bytes(Hop hop) const { return costs_[static_cast<std::size_t>(hop)].payload_bytes(slice_); }
  /// Seconds of an encode and of a decode. Copies between a device and the host count as the codec's.
  double encode_s() const { return cost(Hop::kFirst).encode(slice_) + cost(Hop::kFirst).download(slice_); }
  double decode_s() const { return cost(Hop::kSecond).decode(slice_) + cost(Hop::kSecond).upload(slice_); }
  bool votes() const { return cost(Hop::kFirst).facts().traits.votes; }

  /// Seconds of a merge of `coded` codes and, if `own`, this rank's elements.
  double merge_s(int coded, Hop from, bool own, Hop to) const;
  /// Seconds of the merge of all ranks' codes.
  double merge_of_codes_s() const { return merge_s(ranks_, Hop::kFirst, false, Hop::kSecond); }

  /// Seconds until one message has left, or has arrived, where as many peers are served at once.
  double leaving(bool between, Bytes bytes) const { return link(between).message_s + on_wire(between, bytes); }
  double leaving_to(bool between, Bytes bytes, int peers) const;
  double arriving_from(bool between, Bytes bytes, int peers) const;

  /// Puts the next tasks on the next hop.
  void next_hop() { hop_ += 1; }
  /// Ranks send all the time, without waiting for each other.
  void send_all_the_time() { all_the_time_ = true; }

  /// `times` tasks of `seconds` each.
  Stage& codec(Kind kind, double times, double seconds, double then = 0);
  /// The same of merges that wait for all of the round, on the next hop.
  Stage& gathering(double times, double seconds, double then);
  /// `count` messages in a round, to `peers` ranks and from as many. A node's ranks take turns at a port that they
  /// share.
  Stage& send(bool between, double count, Bytes bytes, double then, int peers);
  /// Sends to owners, or from them. If a rank owns less than a partition, the owner's port is busy for longer.
  void with_owners(Bytes bytes, bool from_owner);

 private:
  double shared_s(Kind kind) const;
  const CodecCosts& cost(Hop hop) const { return costs_[static_cast<std::size_t>(hop)]; }
  const Link& link(bool between) const { return between ? profile_.between : profile_.inside; }
  double on_wire(bool between, Bytes bytes) const { return link(between).wire.at(static_cast<double>(bytes)); }
  int meeting(int peers) const;
  void serve(bool between, int peers, Bytes bytes, double then, bool from_owner);
  void add_message_tasks();

  const Profile& profile_;
  const HopCosts& costs_;
  const double task_s_;
  int ranks_, nodes_, each_;
  int owners_, contributors_;
  double crossing_, double_crossing_;
  Elements slice_ = 0;
  double rounds_ = 1, of_round_ = 1;  ///< rounds, and partitions in each
  double share_ = 1;
  bool all_the_time_ = false;
  std::uint32_t hop_ = 0;
  Outline made_;
};

}  // namespace casync
