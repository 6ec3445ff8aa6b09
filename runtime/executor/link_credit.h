// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>
#include <unordered_set>
#include <vector>

#include "base/units.h"
#include "casync/model/topology.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// ByteScheduler's credit (Peng et al., SOSP'19), by the simulator's rule: each of this rank's two ports, one to its
/// own node and one to the others, has messages of so many bytes together under way, or one that is larger. A message
/// gives its bytes back when word has come that it has arrived, or that it waits for its place at its receiver.
///
/// The same object has the words that this rank owes its peers: exactly one for each message, so that a peer that has
/// all of its own may leave.
///
/// One thread.
class LinkCredit {
 public:
  /// The word of an arrival.
  struct Word {
    Rank to = 0;
    MessageKey message;
  };

  LinkCredit(Bytes credit, const Topology& topology, Rank rank);

  /// Ports, as numbers.
  static constexpr std::size_t kPorts = 2;
  std::size_t port_of(Rank peer) const { return ports_of_[static_cast<std::size_t>(peer)]; }

  /// Returns true if a message of so many bytes may be handed over to the port.
  bool admits(std::size_t port, Bytes bytes) const {
    const Port& own = ports_[port];
    return own.messages.empty() || own.bytes + bytes <= credit_;
  }
  void handed_over(Rank to, const MessageKey& message, Bytes bytes);
  /// Takes the word that a message has arrived. A word of no message under way is ignored.
  void arrived(Rank at, const MessageKey& message);
  /// Returns true if there is word of all messages.
  bool idle() const { return ports_[0].messages.empty() && ports_[1].messages.empty(); }

  /// A peer's message waits here for its place.
  void put_off(Rank from, const MessageKey& message);
  /// A peer's message has arrived.
  void received(Rank from, const MessageKey& message);
  /// The words that are due; the caller sends and clears them.
  std::vector<Word>& words() { return words_; }

 private:
  struct UnderWay {
    Rank to = 0;
    MessageKey message;
    Bytes bytes = 0;
  };
  struct Port {
    std::vector<UnderWay> messages;
    Bytes bytes = 0;
  };
  struct Waiting {
    Rank from = 0;
    MessageKey message;
    bool operator==(const Waiting&) const = default;
  };
  struct WaitingHash {
    std::size_t operator()(const Waiting& waiting) const;
  };

  const Bytes credit_;
  std::vector<std::size_t> ports_of_;  // by rank
  std::array<Port, kPorts> ports_;
  std::pmr::unsynchronized_pool_resource pool_;  // keeps its memory from step to step
  std::pmr::unordered_set<Waiting, WaitingHash> waiting_;
  std::vector<Word> words_;
};

}  // namespace casync::runtime
