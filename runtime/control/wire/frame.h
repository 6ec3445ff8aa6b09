// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace casync::runtime {

/// The messages of two ranks that have authenticated each other. The numbers are on the wire.
enum class FrameType : std::uint8_t {
  kBeat = 1,          ///< I am alive
  kReady = 2,         ///< hub to members: all are here, and who they are
  kAbort = 3,         ///< the job is over, and why
  kGather = 4,        ///< member to hub: my blob of my next collective call
  kGathered = 5,      ///< hub to members: one rank's blob
  kRefused = 6,       ///< hub to members: that call failed, and why
  kGoodbye = 7,       ///< member to hub: I leave; hub to members: these ranks leave
  kClaim = 8,         ///< member to hub: names, and digests of my facts about them
  kAgreed = 9,        ///< hub to members: every rank has claimed these names alike
  kAsk = 10,          ///< hub to a member: your facts about this name?
  kTold = 11,         ///< member to hub: the facts
  kNeeds = 12,        ///< member to hub: I wait for these names, in this step
  kNeeded = 13,       ///< hub to the members that lack a name: another rank waits for it, in this step
  kLacks = 14,        ///< member to hub: I will not claim this name
  kGiveUp = 15,       ///< member to hub: I have waited for this name long enough
  kHere = 16,         ///< member to hub, in a tree: who I am, and where children find me
  kUp = 17,           ///< relay to parent: a frame of a rank below
  kDown = 18,         ///< to a relay: a frame for one rank below
  kAllGathered = 19,  ///< hub to members: every rank's blob
  kHubWords = 20,     ///< member to hub, ahead of a goodbye: last words for rank 0 alone
  kWhoIsLate = 21,    ///< member to hub: I have waited long for this name or collective call; for which ranks?
  kLate = 22,         ///< hub to that member: a sentence with these ranks
  kAlone = 23,        ///< relay to children: this rank on the way to the hub has left, and nothing more comes
};
inline constexpr FrameType kLastFrameType = FrameType::kAlone;
inline constexpr Bytes kMostTogether = 64_MiB;  ///< of the blobs in one frame

inline constexpr Bytes kMostBlobBytes = 64_MiB;
inline constexpr Bytes kMostClaimName = 8_KiB;
inline constexpr Bytes kMostLastWords = 1_MiB;
inline constexpr Bytes kMostHubWords = 4_KiB;
inline constexpr Bytes kMostLeavers = 1_MiB;  ///< of the ranks that share them

/// The most bytes a payload of this type may have; 0 bytes for the unknown ones too.
Bytes most_payload(FrameType type);

/// Bytes that go to several ranks, hashed once.
struct Payload {
  explicit Payload(std::string content);
  std::string bytes;
  std::string digest;  ///< sha256
};
using PayloadRef = std::shared_ptr<const Payload>;  // shared: one blob waits in the queues of many connections
PayloadRef make_payload(std::string content);

/// A frame as it is sent or has arrived, without its header.
struct Frame {
  FrameType type = FrameType::kBeat;
  PayloadRef payload;
};

/// A frame on the wire, little-endian:
///
///   0  type u8, three zeros     4  payload bytes u32     8  sequence u64
///   16 sha256 of the payload    48 first 16 bytes of hmac_sha256(key, bytes 0..47)    64 payload
///
/// The length of a header is used only once its HMAC has been checked. The digest in the header vouches for the
/// payload, so that a blob for N ranks is hashed once and not N times.
inline constexpr Bytes kControlHeaderBytes = 64;

/// Makes the headers of one direction of one connection.
class FrameSealer {
 public:
  explicit FrameSealer(std::string key) : key_(std::move(key)) {}
  std::string header(FrameType type, const Payload& payload);

 private:
  std::string key_;
  std::uint64_t sequence_ = 0;
};

/// Splits one direction of one connection into frames. The first error is final.
class FrameParser {
 public:
  explicit FrameParser(std::string key) : key_(std::move(key)) {}
  /// Appends the frames that became whole. DataLoss: bytes nobody with the key sent in this place. Memory grows
  /// with what arrives, never with what a length says.
  Status push(std::string_view bytes, std::vector<Frame>* frames);

 private:
  Status check_header();
  Status finish(std::vector<Frame>* frames);

  std::string key_;
  std::uint64_t sequence_ = 0;
  std::string header_;
  std::string payload_;
  FrameType type_ = FrameType::kBeat;
  Bytes length_ = 0;
};

}  // namespace casync::runtime
