// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/units.h"
#include "casync/simulator/urgent_queue.h"

namespace casync {
class OneRank;
}

namespace casync::one_rank {

/// The ports of the rank, inside its node and between nodes: each sends one message at a time, and receives one.
class Ports {
 public:
  explicit Ports(OneRank& rank) : rank_(rank) {}

  void reset(Bytes fusion_bytes);
  /// An item waits for the port.
  void queue(bool between, const UrgentTask& item) { ports_[between ? 1 : 0].ready.push(item); }
  /// Begins a message, if the port is free. Fuses messages to the same receiver as engine::Network does.
  void start(bool between);
  void free(bool between) { ports_[between ? 1 : 0].sending = false; }

 private:
  struct Port {
    bool sending = false;
    double receives_until = 0;
    UrgentQueue ready;
  };

  OneRank& rank_;
  Port ports_[2];
  Bytes fusion_bytes_ = 0;
};

}  // namespace casync::one_rank
