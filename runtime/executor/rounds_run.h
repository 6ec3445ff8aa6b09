// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/device/device.h"

namespace casync::runtime {

class GradientRun;

/// The state of a gradient whose codec works in rounds: this rank takes a turn, all ranks join what they made in it,
/// and so on; the last turn makes the result. Each exchange is a gradient of its own, of float32, with the same
/// strategy, so that the graph of the gradient itself has no task: the gradient waits for its turns.
///
/// Threads: fixed once built, but for the step under way: that is the progress thread's.
class RoundsRun {
 public:
  using MakeKernels = std::function<Result<std::unique_ptr<TurnKernels>>(Device&)>;

  /// `kernels` makes those of the codec's turns; empty: they are those of a program, by its name.
  RoundsRun(std::unique_ptr<compll::RoundsCodec> rounds_codec, Elements matrix_rows, Elements matrix_columns,
            MakeKernels kernels = {});
  ~RoundsRun();
  RoundsRun(const RoundsRun&) = delete;
  RoundsRun& operator=(const RoundsRun&) = delete;

  const std::unique_ptr<compll::RoundsCodec> codec;
  const MakeKernels make_kernels;
  const Elements rows, columns;
  const compll::RoundsShape shape;

  /// Adds the next exchange, of what the turn ahead of it makes.
  void add(std::unique_ptr<GradientRun> exchange);
  std::span<const std::unique_ptr<GradientRun>> exchanges() const { return exchanges_; }
  std::size_t turns() const { return exchanges_.size() + 1; }

  /// Memory of what is exchanged and of what the codec keeps from turn to turn. Unavailable: no memory.
  Status allocate(Device& device);
  /// The elements of each exchange.
  std::span<const std::unique_ptr<DeviceBuffer>> exchanged() const { return exchanged_; }
  const std::unique_ptr<DeviceBuffer>& scratch() const { return scratch_; }
  /// Takes more of it, for kernels that need more than the codec.
  void use_scratch(std::unique_ptr<DeviceBuffer> memory) { scratch_ = std::move(memory); }

  /// A step begins with its first turn.
  void begin() { turn_ = 0; }
  /// The exchange after the turn is over, and the next turn is to be taken.
  void go_on() { ++turn_; }
  std::uint32_t turn() const { return turn_; }
  bool is_last() const { return turn_ == exchanges_.size(); }
  /// The exchange that is under way; null while a turn is taken.
  const GradientRun* under_way() const;

 private:
  std::vector<std::unique_ptr<GradientRun>> exchanges_;
  std::vector<std::unique_ptr<DeviceBuffer>> exchanged_;
  std::unique_ptr<DeviceBuffer> scratch_;
  std::uint32_t turn_ = 0;
};

}  // namespace casync::runtime
