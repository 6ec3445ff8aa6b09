// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/rounds_generated.h"

#include <algorithm>

#include "base/check.h"
#include "compll/codec/generated_codec.h"
#include "compll/codec/rounds_info.h"
#include "compll/codec/thread_workspace.h"
#include "compll/ops/exchange_kind.h"

namespace casync::compll {
namespace {

class GeneratedRoundsCodec final : public RoundsCodec {
 public:
  GeneratedRoundsCodec(CodecInfo info, const GeneratedCodec& generated)
      : info_(std::move(info)), functions_(generated.rounds) {
    info_.rounds = functions_.count;
    const GeneratedVector any = vector_of(1, 1, {});
    for (std::uint32_t i = 0; i < functions_.count; ++i) {
      info_.exchanges.push_back(static_cast<ExchangeKind>(functions_.sized(kFirstExchangeKind + i, any)));
    }
    info_.of_matrices = functions_.sized(kNamesShape, any) != 0;
    info_.bits_per_element = nominal_bits(*this);
  }

  const CodecInfo& info() const override { return info_; }
  void prepare_thread() const override {}

  RoundsShape shape(Elements rows, Elements columns) const override {
    const GeneratedVector vector = vector_of(rows, columns, {});
    RoundsShape all;
    for (std::uint32_t i = 0; i < functions_.count; ++i) all.exchanged.push_back(functions_.sized(i, vector));
    all.states = functions_.sized(kStateFloats, vector);
    all.scratch = functions_.sized(kScratchFloats, vector);
    return all;
  }

  void turn(const Turn& turn, const EncodeContext& context) const override {
    CASYNC_CHECK(turn.number <= functions_.count && turn.exchanged.size() == functions_.count);
    workspace().begin();
    const GeneratedVector vector = vector_of(turn.rows, turn.columns, context);
    const bool last = turn.number == functions_.count;
    const Elements states = functions_.sized(kStateFloats, vector);
    GeneratedTurn given{turn.gradient, turn.exchanged.data(), turn.states_in, turn.states_out, turn.scratch, turn.out};
    if (given.states_in == nullptr) {
      float* const zeros = taken(states);
      std::fill_n(zeros, states, 0.0f);
      given.states_in = zeros;
    }
    if (given.states_out == nullptr && last) given.states_out = taken(states);
    functions_.turn(turn.number, vector, given);
  }

 private:
  static ThreadWorkspace& workspace() { return ThreadWorkspace::of_this_thread(); }
  static float* taken(Elements count) { return reinterpret_cast<float*>(workspace().take(count * sizeof(float))); }

  GeneratedVector vector_of(Elements rows, Elements columns, const EncodeContext& context) const {
    return {info_.values.data(), rows * columns, {context.seed, context.gradient, context.step, context.first},
            &workspace(),        rows,           columns};
  }

  CodecInfo info_;
  const GeneratedRounds& functions_;
};

}  // namespace

Result<std::unique_ptr<RoundsCodec>> make_generated_rounds(const GeneratedCodec& generated,
                                                           std::span<const std::pair<std::string, double>> parameters,
                                                           std::uint64_t digest) {
  CASYNC_CHECK(generated.rounds.count != 0);
  Result<CodecInfo> info = info_of(generated, parameters, digest);
  if (!info) return info.status();
  return std::unique_ptr<RoundsCodec>(std::make_unique<GeneratedRoundsCodec>(std::move(*info), generated));
}

}  // namespace casync::compll
