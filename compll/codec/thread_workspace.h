// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <new>
#include <vector>

#include "base/units.h"
#include "compll/ops/generated.h"

namespace casync::compll {

/// The calling thread's memory between loops. It grows until a codec has all that it needs; then no call allocates
/// any.
class ThreadWorkspace final : public Workspace {
 public:
  static ThreadWorkspace& of_this_thread();

  /// Frees all that was taken, for reuse; several pieces become one.
  void begin();
  std::byte* take(std::size_t bytes) override;

 private:
  static constexpr std::size_t kAlignment = 64;
  static constexpr Bytes kLeastPiece = 64_KiB;

  struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{kAlignment}); }
  };
  struct Piece {
    std::unique_ptr<std::byte, Free> bytes;
    Bytes size = 0;
  };

  void add_piece(Bytes size);

  std::vector<Piece> pieces_;
  Bytes used_ = 0;  ///< of the last piece
};

}  // namespace casync::compll
