// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "casync/simulator/simulate.h"

namespace casync::tools {

/// One end of a message, as a rank measured it or is simulated to: handing it to the network until the network is
/// through with it, or from its first sight until it is all there.
struct MessageSpan {
  bool sending = false;
  Rank rank = 0, peer = 0;
  std::int32_t step = 0;
  std::uint32_t gradient = 0, partition = 0, hop = 0;
  double from_s = 0, to_s = 0;  ///< on one clock of all ranks
  double bytes = 0;

  Rank sender() const { return sending ? rank : peer; }
  Rank receiver() const { return sending ? peer : rank; }
};

/// A message from the moment its sender began to hand it over until its receiver had all of it.
struct MessageWay {
  struct Interval {
    double from_s = 0, to_s = 0;
  };
  Rank sender = 0, receiver = 0;
  std::int32_t step = 0;
  double bytes = 0;
  std::optional<Interval> out;  ///< by its sender's clock; unset: the sender's end is missing
  std::optional<Interval> in;   ///< by its receiver's
};

/// The messages that these are the ends of. `hosts`: by rank; empty: one clock. Between ranks of different hosts clocks
/// are taken to differ by so much that the shortest way there takes as long as the shortest way back. A message whose
/// other end is not among `spans` was on its way as long as the one end says.
std::vector<MessageWay> ways_of(std::vector<MessageSpan> spans, const std::vector<std::string>& hosts);

/// The length of the union of intervals.
double seconds_of(std::vector<MessageWay::Interval> intervals);

/// Seconds of one step of one rank in which at least one of its messages was on its way out, and in: from the moment
/// its sender began to hand it over until its receiver had all of it. The times that either end sees depend on the
/// network: a sender is through when the kernel's buffers have taken a message, a receiver sees a small one only when
/// it is there. Messages that overlap count once.
struct OnTheWay {
  double out_s = 0, in_s = 0;
};
using OnTheWayOf = std::map<std::pair<Rank, std::int32_t>, OnTheWay>;  ///< of rank and step, those that have messages

/// `hosts` as in ways_of.
OnTheWayOf on_the_way(std::vector<MessageSpan> spans, const std::vector<std::string>& hosts);

/// The same for simulated spans; leaves out those that are no messages.
OnTheWayOf on_the_way(const std::vector<SimulatedSpan>& spans);

}  // namespace casync::tools
