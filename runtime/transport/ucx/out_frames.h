// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "base/view.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// The frames of the messages that a rank sends: their headers, the size of their pieces, and the bytes of those that
/// travel as one.
class OutFrames {
 public:
  explicit OutFrames(const TransportOptions& options);

  /// The most bytes of a piece.
  Bytes piece_bytes() const { return piece_bytes_; }

  /// A header that describes no piece yet.
  FrameHeader header_for(const Message& message) const;
  /// Describes the piece at this offset of the payload, and writes the header.
  void write_header(FrameHeader& header, ConstView payload, Bytes offset, std::byte* to) const;

  /// The number of messages, from the first on, that go into one wire message: at least one.
  std::size_t count_fused(std::span<const Outgoing> outgoing) const;
  /// Writes header and payload of each message, one after the other. Grows to the largest wire message the first time.
  void write_fused(std::span<const Outgoing> outgoing, std::vector<std::byte>& bytes) const;
  /// Writes the header that announces a wire message of so many bytes.
  void write_announcement(Bytes bytes, std::byte* to) const;

 private:
  Rank rank_;
  std::uint64_t epoch_;
  Bytes piece_bytes_;
  Bytes fusion_bytes_;
  bool checksum_;
};

}  // namespace casync::runtime
