// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/executor/executor_options.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/link_coordinator.h"
#include "runtime/executor/link_credit.h"
#include "runtime/executor/peer_link.h"
#include "runtime/executor/ready_queue.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// This rank's sends. Those that are ready wait at the link to their receiver and leave in their order of urgency,
/// small ones together: at each link's pace (LinkPace), by leave of the coordinator (LinkCoordinator, on rank 0), or by
/// a credit for all links of a port (LinkCredit). The progress thread's.
class Links {
 public:
  /// Makes the message of a Send that is ready.
  using MakeOutgoing = std::function<Outgoing(const ReadyTask&)>;

  /// Borrows all of these.
  Links(const ExecutorOptions& options, Transport& transport, MakeOutgoing outgoing);

  /// Sends by credit from now on. Not with a coordinator.
  void set_credit(Bytes bytes, const Topology& topology);
  /// Makes room for each link's own sends. Links that no graph uses take none.
  void reserve(std::span<GradientRun* const> runs);

  void push(Rank to, const ReadyTask& ready);
  /// Hands over to the transport what may leave now. Returns false if nothing could.
  bool flush();
  /// When flush() may hand over more, if nothing happens until then.
  Clock::time_point due() const;
  /// A message of so many bytes has been reported as sent.
  void sent(Rank to, Bytes bytes);
  /// Takes a word of, or to, the coordinator.
  void take_coordination(Rank from, const Message& message);

  // A credit's words; without a credit these do nothing.
  /// A peer's message waits here for its place.
  void put_off(Rank from, const MessageKey& message);
  /// A peer's message has arrived.
  void received(Rank from, const MessageKey& message);
  /// Word of the arrival of a message of this rank has come.
  void arrived(Rank at, const MessageKey& message);
  /// Returns true if there is word of all messages.
  bool idle() const { return credit_ == nullptr || credit_->idle(); }

 private:
  PeerLink& link(Rank peer) { return links_[static_cast<std::size_t>(peer)]; }
  const PeerLink& link(Rank peer) const { return links_[static_cast<std::size_t>(peer)]; }
  void mark_busy(Rank peer);
  bool is_crowded() const { return under_way_ >= kMostUnderWay; }
  bool flush_by_pace(Clock::time_point now);
  void flush_one(Rank peer, Clock::time_point now);

  // links_coordination.cc
  bool flush_coordinated(Clock::time_point now);
  void grant(Clock::time_point now);
  void allow(Rank peer);
  void want(Rank peer, Clock::time_point now);
  void end_grant(Rank peer);
  void tell(Rank to, std::uint32_t hop, Rank about, Bytes bytes);
  Clock::time_point coordination_due() const;

  // links_credit.cc
  bool flush_by_credit(Clock::time_point now);
  bool send_words();

  const ExecutorOptions& options_;
  Transport& transport_;
  const MakeOutgoing outgoing_;
  std::vector<PeerLink> links_;                   ///< by peer
  std::vector<Rank> busy_;                        ///< those with something ready
  Bytes under_way_ = 0;                           ///< handed over for all peers together, and not reported as sent
  std::vector<Outgoing> fused_;                   ///< of the message that is being handed over
  std::unique_ptr<LinkCoordinator> coordinator_;  ///< null but on rank 0 of a job that has one
  std::vector<LinkCoordinator::Grant> grants_;
  std::uint32_t told_ = 0;              ///< words of and to the coordinator
  std::unique_ptr<LinkCredit> credit_;  ///< null: messages go by the links' pace
};

}  // namespace casync::runtime
