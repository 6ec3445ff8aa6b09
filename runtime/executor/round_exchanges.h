// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "casync/graph/rounds.h"
#include "runtime/collective/round_transport.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/round_payloads.h"

namespace casync::runtime {

/// The messages of a bucket's rounds, from and to the places of their payloads, and how many have travelled.
///
/// Threads: the progress thread. Errors: as RoundTransport.
class RoundExchanges {
 public:
  /// Messages of all steps together.
  struct Traffic {
    std::uint64_t messages_sent = 0, messages_received = 0;
    Bytes bytes_sent = 0, bytes_received = 0;
  };

  /// Finds the messages of each round. `runs`: the bucket's gradients, whose payloads have their places.
  void take_in(const Bucket& bucket, std::span<GradientRun* const> runs, const RoundPayloads& payloads);

  /// Queues all messages of a round.
  Status exchange(std::uint32_t round, RoundTransport& transport);
  const Traffic& traffic() const { return traffic_; }

 private:
  struct Pieces {
    std::vector<RoundPiece> sends, recvs;
  };

  std::vector<Pieces> pieces_;  ///< by round
  Traffic traffic_;
};

}  // namespace casync::runtime
