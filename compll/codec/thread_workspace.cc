// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/thread_workspace.h"

#include <algorithm>

namespace casync::compll {

ThreadWorkspace& ThreadWorkspace::of_this_thread() {
  thread_local ThreadWorkspace memory;
  return memory;
}

void ThreadWorkspace::begin() {
  if (pieces_.size() > 1) {
    Bytes all = 0;
    for (const Piece& piece : pieces_) all += piece.size;
    pieces_.clear();
    add_piece(all);
  }
  used_ = 0;
}

std::byte* ThreadWorkspace::take(std::size_t bytes) {
  const Bytes size = round_up(bytes, kAlignment);
  if (pieces_.empty() || used_ + size > pieces_.back().size) {
    add_piece(std::max<Bytes>(size, kLeastPiece));
    used_ = 0;
  }
  std::byte* const taken = pieces_.back().bytes.get() + used_;
  used_ += size;
  return taken;
}

void ThreadWorkspace::add_piece(Bytes size) {
  pieces_.push_back(
      {std::unique_ptr<std::byte, Free>(static_cast<std::byte*>(::operator new (size, std::align_val_t{kAlignment}))),
       size});
}

}  // namespace casync::compll
