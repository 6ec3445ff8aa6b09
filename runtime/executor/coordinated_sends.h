// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/executor/executor_options.h"
#include "runtime/executor/handover.h"
#include "runtime/executor/link_coordinator.h"
#include "runtime/executor/ready_sends.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// Sends by leave of the coordinator (LinkCoordinator), which runs on rank 0's progress thread: wants, grants and ends
/// are messages without a payload. Leave must not become an order between ranks: sends that have waited for too long go
/// without it. The progress thread's.
class CoordinatedSends {
 public:
  /// Borrows all of these.
  CoordinatedSends(const ExecutorOptions& options, Transport& transport, ReadySends& sends, Handover& handover);

  /// Hands over everything that is ready for each peer to which this rank may send. Returns false if nothing was.
  bool flush();
  /// When flush() may hand over more, if nothing happens until then.
  Clock::time_point due() const;
  /// A message to the peer has been reported as sent.
  void sent(Rank to);
  /// Takes a word of, or to, the coordinator.
  void take(Rank from, const Message& message);

 private:
  /// The coordinator's leave to send to a peer.
  struct Leave {
    bool wanted = false;    ///< the coordinator has been asked, and has not answered
    bool granted = false;   ///< the coordinator has said yes, and nothing has been sent since
    bool in_grant = false;  ///< some of the granted bytes have not left
    bool waits = false;     ///< sends are ready, and wait for leave or for the end of the last one
    Clock::time_point waits_since{};
  };

  const Leave& leave(Rank peer) const { return leaves_[static_cast<std::size_t>(peer)]; }
  Leave& leave(Rank peer) { return leaves_[static_cast<std::size_t>(peer)]; }
  bool flush(Rank peer, Clock::time_point now);
  void grant(Clock::time_point now);
  void allow(Rank peer);
  void want(Rank peer, Clock::time_point now);
  void end_grant(Rank peer);
  void tell(Rank to, std::uint32_t hop, Rank about, Bytes bytes);

  const ExecutorOptions& options_;
  Transport& transport_;
  ReadySends& sends_;
  Handover& handover_;
  std::vector<Leave> leaves_;                     ///< by peer
  std::unique_ptr<LinkCoordinator> coordinator_;  ///< null but on rank 0
  std::vector<LinkCoordinator::Grant> grants_;
  std::uint32_t told_ = 0;  ///< words of and to the coordinator
};

}  // namespace casync::runtime
