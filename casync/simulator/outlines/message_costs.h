// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/units.h"
#include "casync/simulator/profile.h"

namespace casync {

/// Seconds of one message over the link between nodes, or over the one inside of a node.
class MessageCosts {
 public:
  /// `profile` outlives this.
  explicit MessageCosts(const Profile& profile) : profile_(profile) {}

  const Link& link(bool between) const { return between ? profile_.between : profile_.inside; }
  double on_wire(bool between, Bytes bytes) const { return link(between).wire.at(static_cast<double>(bytes)); }
  /// Until it has left.
  double leaving(bool between, Bytes bytes) const { return link(between).message_s + on_wire(between, bytes); }
  /// The same, or until it has arrived, where as many peers are served at once.
  double leaving_to(bool between, Bytes bytes, int peers) const {
    return leaving(between, bytes) * link(between).outcast.at(peers);
  }
  double arriving_from(bool between, Bytes bytes, int peers) const {
    return on_wire(between, bytes) * link(between).incast.at(peers);
  }

 private:
  const Profile& profile_;
};

}  // namespace casync
