// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "casync/simulator/port_count.h"
#include "casync/simulator/under_way.h"
#include "casync/simulator/urgent_queue.h"

namespace casync::engine {

struct Engine;

/// Messages: a port sends one at a time and receives one at a time. A message goes through as it comes (its first byte
/// arrives while its last has not left) unless another one is still arriving at the same port: then it waits in the
/// switch, and no other after it at the sender. If messages take processor time, one has left when its sender's
/// processors are through with it, too, and is there when its receiver's are. A message is named by its first task.
class Network {
 public:
  explicit Network(Engine& engine);

  /// A send is ready. It asks its receiver, if it has to.
  void add_send(std::uint32_t send);
  /// A send waits for its port.
  void queue_send(std::uint32_t send);
  /// Begins messages at ports that were marked.
  void start_all();
  /// A rank's messages can leave again.
  void release(Rank rank);

  // The ends of a message's parts.
  /// The port, or the sender's processors, are through with it.
  void part_left(std::uint32_t first);
  void head_arrives(std::uint32_t first, std::uint32_t step);
  /// The way through the network, the sender's or the receiver's processors are through with it.
  void part_arrived(std::uint32_t first, int step);
  void give_back_credit(std::uint32_t first);

  /// The moment at which a message asked, or began to leave, or to arrive; earlier: has left.
  double since(std::uint32_t task) const { return since_[task]; }

 private:
  /// A message with all that has joined it.
  struct HandedOver {
    std::uint32_t first = 0;
    Bytes bytes = 0;
  };

  struct Port {
    bool sending = false;
    double receives_until = 0;
    UrgentQueue ready;  ///< may name sends that have left fused with another
    // With a credit: messages that nothing overtakes any more, and the bytes of these and of those that have left.
    std::deque<HandedOver> handed_over;
    Bytes under_way = 0;
    // Kept where the link has a fan of that kind.
    PortCount receivers;  ///< of messages that wait to leave or are leaving
    PortCount senders;    ///< of messages that arrive or wait to
    bool marked = false;
  };

  void mark(std::size_t port);
  void start_sending(std::size_t port);
  bool clean(UrgentQueue& queue) const;
  std::optional<HandedOver> next_message(Port& port);
  void hand_over(Port& port);
  Bytes fuse(std::uint32_t first);
  Bytes bytes_of(std::uint32_t first) const;
  void free_port(std::uint32_t first);
  void arrived(std::uint32_t first, int step);

  Engine& engine_;
  std::vector<Port> ports_;                               // as Routes counts them
  std::unordered_map<std::uint64_t, UrgentQueue> lanes_;  // sends from one rank to another: what may fuse
  std::vector<std::size_t> marked_, starting_;
  std::vector<std::vector<std::size_t>> held_;  // by rank: ports whose next message is of a rank that cannot send now
  UnderWay under_way_;                          // but for asynchronous ranks: nobody has two of a kind there

  // Indexed by task.
  std::vector<std::uint32_t> fused_with_;  // the next task of the same message
  std::vector<double> since_;
  std::vector<std::uint64_t> queued_as_;  // the arrival of a send that waits for its port; 0: it does not
  // Bytes of a message that has arrived, by its first task: its word is at the sender before the next one of that task,
  // which leaves once this one has arrived, can arrive. Empty: no credit.
  std::vector<Bytes> credit_;
  // Parts still missing until a message has left and has arrived. Used if messages take processor time.
  std::vector<std::uint8_t> to_leave_, to_arrive_;
};

}  // namespace casync::engine
