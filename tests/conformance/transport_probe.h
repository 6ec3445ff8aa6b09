// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/transport/transport.h"
#include "tests/conformance/transport_conformance.h"

namespace casync::test {

/// A message of bytes that tell who sent them, as what, and where in the payload they belong; kept until sent() ran.
struct SentMessage {
  std::vector<std::byte> payload;
  runtime::Outgoing outgoing;
  int completions = 0;
  Status status;
};

/// A message that was given a place, with bytes before and after that must stay as they are.
struct ReceivedMessage {
  std::vector<std::byte> memory;
  Bytes size = 0;
  int completions = 0;
  Status status;
  runtime::Message message;

  std::byte* begin() { return memory.data() + kGuard; }
  bool guards_are_whole() const;
  bool holds_the_pattern(Rank from) const;
  static constexpr Bytes kGuard = 64;
};

/// The rig's all_gather() for a rank whose messages go on moving: an acknowledgement may still wait for room, and the
/// peer for the acknowledgement.
std::vector<std::string> all_gather_while_moving(TransportRig& rig, runtime::Transport& transport,
                                                 const std::string& blob);

/// A client that remembers everything, and the other half of a rank in a scenario: opens, connects, sends.
class TransportProbe final : public runtime::TransportClient {
 public:
  /// Opens and connects; collective. Failures go to the rig, and is_open() tells.
  explicit TransportProbe(TransportRig& rig, runtime::TransportOptions options = {});

  bool is_open() const { return transport_ != nullptr; }
  runtime::Transport& transport() { return *transport_; }
  void destroy() { transport_.reset(); }

  SentMessage& make(Rank to, std::uint32_t partition, Bytes bytes, std::uint32_t step = 0);
  /// make() and send alone.
  SentMessage& send(Rank to, std::uint32_t partition, Bytes bytes, std::uint32_t step = 0);
  /// Several at once, as one wire message.
  void send_together(Rank to, const std::vector<SentMessage*>& messages);

  /// Moves until `done`; false when it took longer than `seconds`.
  bool until(const std::function<bool()>& done, double seconds = 20);
  /// Moves for so long.
  void run_for(double seconds);
  /// Moves until all ranks have come here.
  void meet() { all_gather_while_moving(rig_, transport(), ""); }

  std::size_t received_count() const { return received_.size() - incomplete_; }
  bool all_sent() const { return unsent_ == 0; }
  /// Every message sent and received so far: exactly once, OK, with the right bytes.
  void check_everything();

  /// The answer for the next messages; by default each gets memory of its own.
  std::function<runtime::Placement(Rank, const runtime::Message&)> answer;
  runtime::Placement place_in_memory(Rank from, const runtime::Message& message);

  std::map<std::tuple<Rank, std::uint32_t, std::uint32_t>, ReceivedMessage> received_;  // from, step, partition
  std::vector<std::unique_ptr<SentMessage>> sent_;
  std::map<Rank, std::vector<Status>> failed_;
  int asked_ = 0;
  bool unasked_ = false;  ///< of the next messages, as Outgoing::unasked

 private:
  runtime::Placement place(Rank from, const runtime::Message& message) override;
  void received(Rank from, const runtime::Message& message, Status status) override;
  void sent(std::uint64_t cookie, Status status) override;
  void failed(Rank peer, Status status) override { failed_[peer].push_back(std::move(status)); }

  TransportRig& rig_;
  std::unique_ptr<runtime::Transport> transport_;
  std::size_t unsent_ = 0;
  std::size_t incomplete_ = 0;
};

}  // namespace casync::test
