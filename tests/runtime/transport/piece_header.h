// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "runtime/transport/frame.h"

namespace casync::test {

/// The header of a message's piece at `offset`, of pieces of `stride` bytes.
inline runtime::FrameHeader piece_header(Bytes payload, Bytes stride, Bytes offset, Rank from = 1) {
  runtime::FrameHeader header;
  header.source = from;
  header.message.key.gradient = 5;
  header.message.payload_bytes = payload;
  header.piece_stride = stride;
  header.piece_offset = offset;
  header.piece_bytes = std::min(stride, payload - offset);
  return header;
}

}  // namespace casync::test
