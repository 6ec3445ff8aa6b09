// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/units.h"
#include "base/view.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// The purpose of a wire message.
enum class FrameKind : std::uint8_t {
  kData = 1,
  kGoodbye = 2,  ///< the sender will send nothing more
  kPutOff = 3,   ///< the message of this key waits here for its place: go on with others
  kFused = 4,    ///< announces a fused message of payload_bytes bytes, headers included
  kSettle = 5,   ///< confirm that all that was sent until now has arrived
  kSettled = 6,  ///< it has
  kCrowded = 7,  ///< too much waits here for its place: announce each message, so that it waits with you
  kRoomy = 8,    ///< the end of that
};

/// The bytes before each piece of a payload, as numbers. A payload of one piece has
/// piece_bytes == piece_stride == payload_bytes, and no piece but such a one is empty.
struct FrameHeader {
  FrameKind kind = FrameKind::kData;
  Message message;
  std::uint64_t epoch = 0;
  Rank source = 0;
  Bytes piece_offset = 0;  ///< offset of this piece in the payload: a multiple of piece_stride
  Bytes piece_bytes = 0;   ///< min(piece_stride, rest of the payload)
  Bytes piece_stride = 0;  ///< length of every piece of this payload but the last
  bool checksummed = false;
  std::uint64_t piece_checksum = 0;  ///< XXH3-64 of the piece, when checksummed
};

/// On the wire: little-endian, fixed size, its own checksum last.
constexpr Bytes kFrameHeaderBytes = 104;

/// A payload in several pieces has none shorter than this but its last, so that a receiver's record of a message
/// stays small compared with the message.
constexpr Bytes kMinPieceBytes = 4_KiB;

/// The fault of a header.
enum class FrameFault : std::uint8_t { kNone, kShort, kMagic, kVersion, kChecksum, kField, kPiece };
const char* name_of(FrameFault fault);

/// Writes kFrameHeaderBytes bytes at `out`.
void write_frame_header(const FrameHeader& header, std::byte* out);

/// Reads and checks everything that can be checked without knowing who is expected: magic, version, checksum,
/// kinds and flags, and that the piece lies inside the payload. `out` is written only when kNone is returned.
FrameFault read_frame_header(ConstView bytes, FrameHeader& out);

/// The piece a header of this stride describes: piece_offset, piece_bytes and checksum filled in.
void set_piece(FrameHeader& header, ConstView payload, Bytes offset, bool with_checksum);

/// Most messages in a fused one. Bounds the headers in it where payloads are tiny: receivers drop an announced one that
/// is much longer.
inline constexpr std::size_t kMostParts = 1024;

/// The number of messages, from the first on, that go into one wire message of at most so much payload: at least one,
/// and at most kMostParts.
std::size_t count_fused(std::span<const Outgoing> outgoing, Bytes fusion_bytes);

/// Walks a fused message: header, payload, header, payload ... Every payload in it is whole.
class FusedReader {
 public:
  explicit FusedReader(ConstView bytes) : rest_(bytes) {}
  /// The next header and its payload. False at the end, or at the first fault: then fault() is not kNone, and
  /// nothing after it is read.
  bool next(FrameHeader& header, ConstView& payload);
  FrameFault fault() const { return fault_; }

 private:
  ConstView rest_;
  FrameFault fault_ = FrameFault::kNone;
};

/// "gradient 0x1f step 3 partition 2 hop 1": how errors name a message.
std::string describe(const MessageKey& key);

}  // namespace casync::runtime
