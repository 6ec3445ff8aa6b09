// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runtime/executor/handover.h"
#include "runtime/executor/link_credit.h"
#include "runtime/executor/ready_sends.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// Sends by a credit for all links of a port (LinkCredit), where the plan has one. Words of arrivals are messages
/// without a payload. The progress thread's.
class CreditSends {
 public:
  /// Borrows the transport, the sends and the handover.
  CreditSends(Bytes bytes, const Topology& topology, Rank self, Transport& transport, ReadySends& sends,
              Handover& handover);

  LinkCredit& credit() { return credit_; }
  const LinkCredit& credit() const { return credit_; }
  /// Sends the words that are due, those for one peer together. Returns false if none was.
  bool send_words();
  /// Hands over the most urgent messages of each port, to any receiver, until its credit is used up: the next one and
  /// all less urgent ones wait then. Returns false if none was handed over.
  bool flush(Clock::time_point now);

 private:
  Rank most_urgent(std::size_t port);

  LinkCredit credit_;
  Transport& transport_;
  ReadySends& sends_;
  Handover& handover_;
  std::vector<Outgoing> fused_;  ///< words for one peer
};

}  // namespace casync::runtime
