// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/units.h"
#include "base/view.h"

namespace casync::runtime {

/// The name of a message: no order between messages or ranks is assumed anywhere.
struct MessageKey {
  std::uint64_t gradient = 0;  ///< the gradient's key: the same on all ranks
  std::uint32_t step = 0;
  std::uint32_t partition = 0;
  std::uint32_t hop = 0;
  bool operator==(const MessageKey&) const = default;
};

/// The header fields that travel with a payload.
struct Message {
  MessageKey key;
  std::uint8_t codec = 0;  ///< the codec's number
  bool finite = true;      ///< false: some rank's contribution was NaN or infinite
  Elements elements = 0;
  Bytes payload_bytes = 0;
};

/// One payload on its way out. The memory is the transport's until sent(cookie) is called.
struct Outgoing {
  Message message;
  ConstView payload;
  std::uint64_t cookie = 0;
  /// Leave without asking the receiver first (announced_bytes()), if that can be. On a slow link its answer would wait
  /// behind its own messages for longer than the copy takes that an announcement saves.
  bool unasked = false;
};

/// The client's answer to an arriving payload, with the memory that it goes to.
struct Placement {
  enum class Kind { kHere, kLater, kRefuse } kind = Kind::kLater;
  View view;      ///< kHere: exactly message.payload_bytes bytes, the transport's until received()
  Status reason;  ///< kRefuse: the first refusal becomes the failure of the sending peer's endpoint
  static Placement here(View view) { return {Kind::kHere, view, {}}; }
  static Placement later() { return {Kind::kLater, {}, {}}; }
  static Placement refuse(Status reason) { return {Kind::kRefuse, {}, std::move(reason)}; }
};

/// The transport's caller. Every call comes from inside progress() or wait(), on that thread.
class TransportClient {
 public:
  virtual ~TransportClient() = default;
  /// A message has begun to arrive and `from` proved nothing yet: the answer comes from what is expected here,
  /// never from the sizes in the message. kLater: asked again after retry_held() for its gradient, or for all.
  virtual Placement place(Rank from, const Message& message) = 0;
  /// Once for each message placed kHere: the payload is complete and its checksum right (OK), or it is not
  /// (DataLoss, PeerFailure; Aborted in close()). The view is the caller's again.
  virtual void received(Rank from, const Message& message, Status status) = 0;
  /// Once for each Outgoing, also after failures: its memory is the caller's again.
  virtual void sent(std::uint64_t cookie, Status status) = 0;
  /// The first failure of a peer, once; every later operation with it completes with the same Status.
  virtual void failed(Rank peer, Status status) = 0;
};

/// Counters of this rank since connect().
struct TransportStats {
  std::uint64_t messages_sent = 0, messages_received = 0;  ///< fused ones count once
  Bytes payload_bytes_sent = 0, payload_bytes_received = 0;
  Bytes wire_bytes_sent = 0, wire_bytes_received = 0;  ///< with our own headers
  Bytes held_bytes = 0;                                ///< of messages that wait here for their place, now
  std::uint64_t frames_dropped = 0;                    ///< not ours, of another job, twice, or of a failed peer
};

/// Messages between the ranks of one job over one kind of network.
///
/// Order:    none is promised; messages match by key.
/// Threads:  one thread at a time calls everything but wake(); a transport starts no thread that calls back.
/// Memory:   receives go where place() says; a transport allocates nothing in a steady step.
/// Failure:  after a peer failed, operations with it complete at once; the others go on.
class Transport {
 public:
  virtual ~Transport() = default;

  /// This rank's address: what connect() on the others needs. Opaque, at most 4 KiB.
  virtual std::string address() const = 0;

  /// Connects to all; addresses[r] is rank r's address(). Called once, ahead of any send.
  virtual Status connect(std::span<const std::string> addresses, TransportClient& client) = 0;

  /// Starts sending. Several outgoing travel together, in order, in as few wire messages as fit: up to
  /// TransportOptions::fusion_bytes of payload and 1,024 of them in each.
  virtual void send(Rank to, std::span<const Outgoing> outgoing) = 0;

  /// Asks place() again, in the next progress(), for each message that it put off.
  virtual void retry_held() = 0;
  /// The same for the messages of one gradient. Costs nothing while none of them waits.
  virtual void retry_held(std::uint64_t gradient) = 0;

  /// Moves what can be moved without waiting; true when anything happened.
  virtual bool progress() = 0;

  /// Sleeps until there may be something to progress, wake() was called, or the deadline; costs no CPU.
  virtual void wait(Clock::time_point deadline) = 0;

  /// Ends the current or next wait(). Any thread, also from a signal-safe place.
  virtual void wake() = 0;

  /// Asks each peer that was sent something to confirm that all of it has arrived; settled() is true once they have, or
  /// failed, or closed. Once, after the last send(). A peer's transport answers by itself, from its progress().
  virtual void settle() = 0;
  virtual bool settled() const = 0;
  /// The peers that have not confirmed yet, as far as the transport knows them. After settle().
  virtual std::vector<Rank> unsettled() const { return {}; }

  /// Completes or cancels what is outstanding, at the latest by the deadline, and says goodbye. sent() still
  /// runs for each outgoing, received() for each placed message. Nothing but the destructor may follow.
  /// Returns false if the network may still write to the memory of a placed message, because a device writes there by
  /// itself and has not confirmed that it stopped: no view of a placed message may be freed or used again.
  virtual bool close(Clock::time_point deadline) = 0;

  virtual TransportStats stats() const = 0;

  /// Payloads from so many bytes on ask `to` ahead of leaving, and wait for its answer; 0: none does. After connect().
  virtual Bytes announced_bytes(Rank to) const = 0;

  /// One line for reports: the network and the options in force, "ucx 1.22 tcp,self dev=lo sndbuf=4m ...".
  virtual std::string description() const = 0;
};

/// How to open a transport; each field also has an environment variable (docs/environment.md).
struct TransportOptions {
  Rank rank = 0;
  int ranks = 1;
  std::uint64_t epoch = 0;             ///< drawn by rank 0 for this job: frames of any other are dropped
  std::string interface_name = "";     ///< network interface, "" chooses; of several, "eth0,eth1", the nearest
  std::string device_address = "";     ///< of the GPU that gradients lie on, "" if none: Device::bus_address()
  int local_rank = 0;                  ///< among the ranks of this machine
  bool checksum = true;                ///< CASYNC_CHECKSUM=0 leaves it out
  Bytes piece_bytes = 1_MiB;           ///< payloads above this travel in pieces of it
  Bytes fusion_bytes = 64_KiB;         ///< most payload in a wire message of several; the same on all ranks
  Bytes held_bytes = 128_MiB;          ///< when more waits here for its place, it waits at its senders
  Seconds dead{5};                     ///< a peer whose network is silent for so long has failed
  std::chrono::microseconds spin{50};  ///< how long wait() polls until it sleeps
};

/// A row of the table of transports.
struct NamedTransport {
  /// The machines on which it can be opened, in a build that has it.
  enum class Found : std::uint8_t { kEverywhere, kMostly, kWithHardware };

  std::string_view name;
  Result<std::unique_ptr<Transport>> (*open)(const std::string& name, const TransportOptions& options) = nullptr;
  bool joins_processes = true;  ///< else ranks have to be threads of one process
  Found found = Found::kEverywhere;
};
/// All transports: the one list of them.
std::span<const NamedTransport> transports();
/// The names of transports that join processes, for help texts: "ucx, ucx:tcp or ucx:shm".
std::string transport_names();
/// InvalidArgument: over the transport of this name ranks have to be threads of one process.
Status check_joins_processes(std::string_view name);

/// Opens the transport called `name`, with CASYNC_LINK pacing around it where that is set.
/// InvalidArgument: no such transport (lists those there are), or a CASYNC_LINK that is no rate. Unavailable,
/// Unimplemented: this machine or build does not have it, and what to install.
Result<std::unique_ptr<Transport>> make_transport(const std::string& name, const TransportOptions& options);

}  // namespace casync::runtime
