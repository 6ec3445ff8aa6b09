// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/device/device.h"

namespace casync::runtime {

struct GradientRun;

/// The state of a gradient whose codec works in rounds: this rank takes a turn, all ranks join what they made in it,
/// and so on; the last turn makes the result. Each exchange is a gradient of its own, of float32, with the same
/// strategy, so that the graph of the gradient itself has no task: the gradient waits for its turns.
struct RoundsRun {
  RoundsRun(std::unique_ptr<compll::RoundsCodec> rounds_codec, Elements matrix_rows, Elements matrix_columns);
  ~RoundsRun();

  std::size_t turns() const { return exchanges.size() + 1; }
  bool is_last() const { return turn == exchanges.size(); }
  /// Memory of what is exchanged and of what the codec keeps from turn to turn. Unavailable: no memory.
  Status allocate(Device& device);
  /// The exchange that is under way; null while a turn is taken.
  const GradientRun* under_way() const;

  // Fixed once built.
  std::unique_ptr<compll::RoundsCodec> codec;
  /// Makes the kernels of the codec's turns; empty: they are those of a program, by its name.
  std::function<Result<std::unique_ptr<TurnKernels>>(Device&)> make_kernels;
  Elements rows = 0, columns = 0;
  compll::RoundsShape shape;
  std::vector<std::unique_ptr<GradientRun>> exchanges;
  std::vector<std::unique_ptr<DeviceBuffer>> exchanged;  ///< their elements
  std::unique_ptr<DeviceBuffer> scratch;

  // The progress thread's.
  std::uint32_t turn = 0;
};

}  // namespace casync::runtime
