// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/units.h"
#include "runtime/transport/doorbell.h"

namespace casync::runtime {

/// One wire message: headers and payloads as bytes, as a network would carry it.
struct Parcel {
  std::vector<std::byte> bytes;
  Rank from = 0;
  bool sender_gone = false;  ///< no bytes: `from` was destroyed without a goodbye
  bool last = false;         ///< nothing of `from` follows: its goodbye, or sender_gone
};

/// Buffers in classes of powers of two, so that a program that repeats itself soon allocates nothing.
/// Threads: any.
class ParcelPool {
 public:
  std::vector<std::byte> take(Bytes size);
  void give(std::vector<std::byte> bytes);

 private:
  std::mutex mutex_;
  std::map<unsigned, std::vector<std::vector<std::byte>>> free_;  // by log2 of the capacity
};

/// The parcels that have arrived for one rank. Threads: any may put; the rank's own takes.
class Mailbox {
 public:
  void put(Parcel parcel);
  /// Swaps all that arrived into `out`, which must be empty.
  void take_all(std::vector<Parcel>& out);
  Doorbell& bell() { return bell_; }

 private:
  std::mutex mutex_;
  std::vector<Parcel> parcels_;
  Doorbell bell_;
};

/// The meeting point of the loopback ranks of one epoch.
class LoopbackHub {
 public:
  /// The hub of an epoch; made when the first rank asks, gone with the last.
  static std::shared_ptr<LoopbackHub> of(std::uint64_t epoch);

  /// Returns false if the rank exists already.
  bool enter(Rank rank);
  /// `said_goodbye` false: the others are told that the rank is gone.
  void leave(Rank rank, bool said_goodbye);

  /// The rank's mailbox. It outlives the rank: parcels sent to a rank that left are lost.
  Mailbox& mailbox(Rank rank);
  ParcelPool& pool() { return pool_; }

 private:
  std::mutex mutex_;
  std::map<Rank, std::unique_ptr<Mailbox>> mailboxes_;
  std::map<Rank, bool> present_;
  ParcelPool pool_;
};

}  // namespace casync::runtime
