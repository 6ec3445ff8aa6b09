// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/out_frames.h"

#include <algorithm>
#include <cstring>

namespace casync::runtime {

OutFrames::OutFrames(const TransportOptions& options)
    : rank_(options.rank),
      epoch_(options.epoch),
      piece_bytes_(std::max(options.piece_bytes, kMinPieceBytes)),
      fusion_bytes_(options.fusion_bytes),
      checksum_(options.checksum) {}

FrameHeader OutFrames::header_for(const Message& message) const {
  FrameHeader header;
  header.message = message;
  header.epoch = epoch_;
  header.source = rank_;
  header.piece_stride = std::min(piece_bytes_, message.payload_bytes);
  return header;
}

void OutFrames::write_header(FrameHeader& header, ConstView payload, Bytes offset, std::byte* to) const {
  set_piece(header, payload, offset, checksum_);
  write_frame_header(header, to);
}

std::size_t OutFrames::count_fused(std::span<const Outgoing> outgoing) const {
  return runtime::count_fused(outgoing, fusion_bytes_);
}

void OutFrames::write_fused(std::span<const Outgoing> outgoing, std::vector<std::byte>& bytes) const {
  Bytes total = 0;
  for (const Outgoing& out : outgoing) total += kFrameHeaderBytes + out.payload.size;
  bytes.reserve(fusion_bytes_ + kMostParts * kFrameHeaderBytes);
  bytes.resize(total);  // of a message used again only what it grows by is written twice
  Bytes at = 0;
  for (const Outgoing& out : outgoing) {
    FrameHeader header = header_for(out.message);
    header.piece_stride = out.payload.size;  // a part is whole, however large pieces are
    write_header(header, out.payload, 0, bytes.data() + at);
    at += kFrameHeaderBytes;
    if (out.payload.size != 0) std::memcpy(bytes.data() + at, out.payload.data, out.payload.size);
    at += out.payload.size;
  }
}

void OutFrames::write_announcement(Bytes bytes, std::byte* to) const {
  Message whole;
  whole.payload_bytes = bytes;
  FrameHeader header = header_for(whole);
  header.kind = FrameKind::kFused;
  header.piece_bytes = header.piece_stride = bytes;
  write_frame_header(header, to);
}

}  // namespace casync::runtime
