// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/frame.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/core.h>

#include "runtime/transport/checksum.h"

namespace casync::runtime {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the wire is little-endian: add byte swaps to load and store");

constexpr std::uint32_t kMagic = 0x31465343;  // "CSF1"
constexpr std::uint8_t kVersion = 1;

constexpr std::uint8_t kFlagFinite = 1;
constexpr std::uint8_t kFlagChecksummed = 2;
constexpr std::uint8_t kFlags = kFlagFinite | kFlagChecksummed;

// Offsets of the fields. Eight-byte fields lie on multiples of eight.
enum Offset : Bytes {
  kAtMagic = 0,
  kAtVersion = 4,
  kAtKind = 5,
  kAtFlags = 6,
  kAtCodec = 7,
  kAtEpoch = 8,
  kAtSource = 16,
  kAtStep = 20,
  kAtGradient = 24,
  kAtPartition = 32,
  kAtHop = 36,
  kAtElements = 40,
  kAtPayloadBytes = 48,
  kAtPieceOffset = 56,
  kAtPieceBytes = 64,
  kAtPieceStride = 72,
  kAtPieceChecksum = 80,
  kAtReserved = 88,  // zero
  kAtHeaderChecksum = 96,
};
static_assert(kAtHeaderChecksum + 8 == kFrameHeaderBytes);

template <class T>
void store(std::byte* out, Offset at, T value) {
  std::memcpy(out + at, &value, sizeof value);
}

template <class T>
T load(const std::byte* in, Offset at) {
  T value;
  std::memcpy(&value, in + at, sizeof value);
  return value;
}

std::uint64_t header_checksum(const std::byte* bytes) { return checksum({bytes, kAtHeaderChecksum}); }

bool piece_fits(const FrameHeader& header) {
  const Bytes payload = header.message.payload_bytes;
  if (header.piece_bytes > payload || header.piece_offset > payload - header.piece_bytes) return false;
  // One way to say each thing: a whole payload that claims pieces would be counted as one and numbered as several.
  if (header.piece_bytes == payload) return header.piece_stride == payload;
  if (header.piece_bytes == 0 || header.piece_stride < kMinPieceBytes) return false;
  if (header.piece_offset % header.piece_stride != 0) return false;
  return header.piece_bytes == std::min(header.piece_stride, payload - header.piece_offset);
}

}  // namespace

const char* name_of(FrameFault fault) {
  switch (fault) {
    case FrameFault::kNone: return "none";
    case FrameFault::kShort: return "shorter than it says";
    case FrameFault::kMagic: return "not one of ours";
    case FrameFault::kVersion: return "of another version";
    case FrameFault::kChecksum: return "header checksum differs";
    case FrameFault::kField: return "a field out of range";
    case FrameFault::kPiece: return "a piece outside its payload";
  }
  return "?";
}

void write_frame_header(const FrameHeader& header, std::byte* out) {
  const auto flags = static_cast<std::uint8_t>((header.message.finite ? kFlagFinite : 0) |
                                               (header.checksummed ? kFlagChecksummed : 0));
  store(out, kAtMagic, kMagic);
  store(out, kAtVersion, kVersion);
  store(out, kAtKind, static_cast<std::uint8_t>(header.kind));
  store(out, kAtFlags, flags);
  store(out, kAtCodec, header.message.codec);
  store(out, kAtEpoch, header.epoch);
  store(out, kAtSource, static_cast<std::uint32_t>(header.source));
  store(out, kAtStep, header.message.key.step);
  store(out, kAtGradient, header.message.key.gradient);
  store(out, kAtPartition, header.message.key.partition);
  store(out, kAtHop, header.message.key.hop);
  store(out, kAtElements, std::uint64_t{header.message.elements});
  store(out, kAtPayloadBytes, std::uint64_t{header.message.payload_bytes});
  store(out, kAtPieceOffset, std::uint64_t{header.piece_offset});
  store(out, kAtPieceBytes, std::uint64_t{header.piece_bytes});
  store(out, kAtPieceStride, std::uint64_t{header.piece_stride});
  store(out, kAtPieceChecksum, header.piece_checksum);
  store(out, kAtReserved, std::uint64_t{0});
  store(out, kAtHeaderChecksum, header_checksum(out));
}

FrameFault read_frame_header(ConstView bytes, FrameHeader& out) {
  const std::byte* in = bytes.data;
  if (bytes.size < kFrameHeaderBytes) return FrameFault::kShort;
  if (load<std::uint32_t>(in, kAtMagic) != kMagic) return FrameFault::kMagic;
  if (load<std::uint8_t>(in, kAtVersion) != kVersion) return FrameFault::kVersion;
  if (load<std::uint64_t>(in, kAtHeaderChecksum) != header_checksum(in)) return FrameFault::kChecksum;

  const auto flags = load<std::uint8_t>(in, kAtFlags);
  const auto kind = load<std::uint8_t>(in, kAtKind);
  const auto source = load<std::uint32_t>(in, kAtSource);
  const bool known_kind =
      kind >= static_cast<std::uint8_t>(FrameKind::kData) && kind <= static_cast<std::uint8_t>(FrameKind::kRoomy);
  if (!known_kind || (flags & ~kFlags) != 0 || source > INT32_MAX || load<std::uint64_t>(in, kAtReserved) != 0) {
    return FrameFault::kField;
  }

  FrameHeader header;
  header.kind = static_cast<FrameKind>(kind);
  header.message.key = {.gradient = load<std::uint64_t>(in, kAtGradient),
                        .step = load<std::uint32_t>(in, kAtStep),
                        .partition = load<std::uint32_t>(in, kAtPartition),
                        .hop = load<std::uint32_t>(in, kAtHop)};
  header.message.codec = load<std::uint8_t>(in, kAtCodec);
  header.message.finite = (flags & kFlagFinite) != 0;
  header.message.elements = load<std::uint64_t>(in, kAtElements);
  header.message.payload_bytes = load<std::uint64_t>(in, kAtPayloadBytes);
  header.epoch = load<std::uint64_t>(in, kAtEpoch);
  header.source = static_cast<Rank>(source);
  header.piece_offset = load<std::uint64_t>(in, kAtPieceOffset);
  header.piece_bytes = load<std::uint64_t>(in, kAtPieceBytes);
  header.piece_stride = load<std::uint64_t>(in, kAtPieceStride);
  header.checksummed = (flags & kFlagChecksummed) != 0;
  header.piece_checksum = load<std::uint64_t>(in, kAtPieceChecksum);
  if (!piece_fits(header)) return FrameFault::kPiece;
  out = header;
  return FrameFault::kNone;
}

void set_piece(FrameHeader& header, ConstView payload, Bytes offset, bool with_checksum) {
  header.piece_offset = offset;
  header.piece_bytes = std::min(header.piece_stride, payload.size - offset);
  header.checksummed = with_checksum;
  header.piece_checksum = with_checksum ? checksum(payload.slice(offset, header.piece_bytes)) : 0;
}

std::size_t count_fused(std::span<const Outgoing> outgoing, Bytes fusion_bytes) {
  std::size_t count = 0;
  for (Bytes room = fusion_bytes; count < outgoing.size() && count < kMostParts; ++count) {
    const Bytes bytes = outgoing[count].payload.size;
    if (bytes > room) break;
    room -= bytes;
  }
  return std::max<std::size_t>(count, 1);
}

bool FusedReader::next(FrameHeader& header, ConstView& payload) {
  if (rest_.size == 0 || fault_ != FrameFault::kNone) return false;
  FrameHeader read;
  fault_ = read_frame_header(rest_, read);
  if (fault_ != FrameFault::kNone) return false;
  rest_ = rest_.slice(kFrameHeaderBytes, rest_.size - kFrameHeaderBytes);
  if (read.piece_bytes != read.message.payload_bytes) fault_ = FrameFault::kPiece;
  if (read.piece_bytes > rest_.size) fault_ = FrameFault::kShort;
  if (fault_ != FrameFault::kNone) return false;
  header = read;
  payload = rest_.slice(0, read.piece_bytes);
  rest_ = rest_.slice(read.piece_bytes, rest_.size - read.piece_bytes);
  return true;
}

std::string describe(const MessageKey& key) {
  return fmt::format("gradient {:#x} step {} partition {} hop {}", key.gradient, key.step, key.partition, key.hop);
}

}  // namespace casync::runtime
