// SPDX-License-Identifier: Apache-2.0
#include <mutex>
#include <utility>
#include <vector>

#include "base/check.h"
#include "compll/cuda/cuda_codec.h"

namespace casync::compll {
namespace {

using Piece = StagedMemory::Piece;

class MatrixCodec final : public CudaRoundsCodec {
 public:
  MatrixCodec(CudaDevice& device, const RoundsCodec& meaning, std::unique_ptr<TurnKernels> kernels)
      : device_(device), info_(meaning.info()), kernels_(std::move(kernels)), memory_(device) {}

  const CodecInfo& info() const override { return info_; }
  const TurnKernels& kernels() const override { return *kernels_; }
  bool wrote_outside() const override { return memory_.wrote_outside(); }
  void prepare_thread() const override {}
  RoundsShape shape(Elements rows, Elements columns) const override {
    const std::lock_guard lock(mutex_);
    return kernels_->shape(rows, columns);
  }

  void turn(const Turn& turn, const EncodeContext& context) const override {
    CASYNC_CHECK(turn.number <= info_.rounds);
    const std::lock_guard lock(mutex_);
    const Placed placed = memory_.send([&] { return place(turn, context); });
    device_.launch(placed.launches);
    memory_.fetch();
    if (turn.number < info_.rounds) memory_.read(placed.exchanged, turn.exchanged[turn.number]);
    if (turn.states_out != nullptr) memory_.read(placed.states, turn.states_out);
    memory_.read(placed.scratch, turn.scratch);
    if (turn.out != nullptr) memory_.read(placed.out, turn.out);
  }

 private:
  /// The memory that a turn writes.
  struct Placed {
    Piece exchanged, states, scratch, out;
    Launches launches;
  };

  float* give(const float* values, Elements n) const {
    return reinterpret_cast<float*>(memory_.give(values, n * sizeof(float)));
  }
  Piece room(const float* values, Elements n) const { return memory_.room(values, n * sizeof(float)); }

  Placed place(const Turn& turn, const EncodeContext& context) const {
    const RoundsShape sizes = kernels_->shape(turn.rows, turn.columns);
    const std::vector<float> zeros(sizes.states);
    const Elements n = turn.rows * turn.columns;
    Placed all;
    cuda::Segment segment;
    segment.n = n;
    segment.rows = turn.rows;
    segment.columns = turn.columns;
    segment.states_in = give(turn.states_in == nullptr ? zeros.data() : turn.states_in, sizes.states);
    if (turn.states_out != nullptr) all.states = room(turn.states_out, sizes.states);
    segment.states_out = all.states.as<float>();
    all.scratch = room(turn.scratch, sizes.scratch);
    segment.scratch = all.scratch.as<float>();
    for (std::uint32_t i = 0; i < info_.rounds; ++i) {
      if (i == turn.number) {
        all.exchanged = room(turn.exchanged[i], sizes.exchanged[i]);
        segment.exchanged[i] = all.exchanged.as<float>();
      } else {
        segment.exchanged[i] = give(turn.exchanged[i], sizes.exchanged[i]);
      }
    }
    // The result may be in the gradient's memory.
    const bool in_place = turn.out == turn.gradient;
    if (turn.out != nullptr) all.out = room(in_place ? turn.gradient : nullptr, n);
    segment.out = all.out.as<float>();
    segment.in = in_place ? segment.out : give(turn.gradient, n);
    all.launches = kernels_->turn(turn.number, segment, context, memory_);
    return all;
  }

  CudaDevice& device_;
  CodecInfo info_;
  std::unique_ptr<TurnKernels> kernels_;
  mutable std::mutex mutex_;  ///< guards all members below
  mutable StagedMemory memory_;
};

}  // namespace

Result<std::unique_ptr<CudaRoundsCodec>> make_cuda_rounds(CudaDevice& device, const CudaModules& modules,
                                                          const CudaCodecText& text, const RoundsCodec& meaning) {
  const auto* turns = std::get_if<CudaRounds>(&text);
  if (turns == nullptr) return invalid_argument("a codec that does not exchange within a step");
  auto kernels = make_turn_kernels(device, modules, *turns, meaning.info());
  if (!kernels) return kernels.status();
  return std::unique_ptr<CudaRoundsCodec>(std::make_unique<MatrixCodec>(device, meaning, std::move(*kernels)));
}

}  // namespace casync::compll
