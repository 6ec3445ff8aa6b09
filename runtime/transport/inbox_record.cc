// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/inbox_record.h"

#include <algorithm>

#include "base/check.h"

namespace casync::runtime {

InboxRecord::InboxRecord(const FrameHeader& first, std::pmr::memory_resource* memory)
    : from_(first.source), message_(first.message), stride_(first.piece_stride), seen_(memory), held_(memory) {
  const bool whole = first.piece_bytes == message_.payload_bytes;
  pieces_ = whole ? 1 : ceil_div(message_.payload_bytes, stride_);
  pieces_missing_ = pieces_;
}

bool InboxRecord::is_described_by(const FrameHeader& header) const {
  const Message& a = message_;
  const Message& b = header.message;
  return a.codec == b.codec && a.finite == b.finite && a.elements == b.elements && a.payload_bytes == b.payload_bytes &&
         stride_ == header.piece_stride && number_of(header) < pieces_;
}

void InboxRecord::place(View view) {
  CASYNC_CHECK(view.size == message_.payload_bytes);
  placed_ = true;
  view_ = view;
}

bool InboxRecord::holds(const FrameHeader& header) const {
  return std::any_of(held_.begin(), held_.end(),
                     [&](const Held& held) { return held.header.piece_offset == header.piece_offset; });
}

// Only a placed message's size is trusted: the client has answered with a buffer of that size.
std::optional<View> InboxRecord::take(const FrameHeader& header) {
  if (seen_.empty()) seen_.resize(pieces_, false);
  auto seen = seen_[number_of(header)];
  if (seen) return std::nullopt;
  seen = true;
  ++pieces_under_way_;
  return view_.slice(header.piece_offset, header.piece_bytes);
}

View InboxRecord::end_piece(const FrameHeader& header) {
  --pieces_under_way_;
  --pieces_missing_;
  return view_.slice(header.piece_offset, header.piece_bytes);
}

void InboxRecord::fail(Status status) {
  if (status_.is_ok()) status_ = std::move(status);
}

}  // namespace casync::runtime
