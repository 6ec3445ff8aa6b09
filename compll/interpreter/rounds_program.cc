// SPDX-License-Identifier: Apache-2.0
#include "compll/interpreter/rounds_program.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "compll/codec/rounds_info.h"
#include "compll/interpreter/interpreter.h"
#include "compll/interpreter/program_values.h"
#include "compll/lang/element_count.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

class RoundsProgram final : public RoundsCodec {
 public:
  RoundsProgram(std::shared_ptr<const Program> program, const ProgramValues& values)
      : program_(std::move(program)), values_(values.values), info_(declared_by(*program_, values)) {
    info_.rounds = program_->rounds;
    info_.exchanges = exchanges_of(*program_);
    info_.of_matrices = program_->declares.shape;
    info_.bits_per_element = nominal_bits(*this);
  }

  const CodecInfo& info() const override { return info_; }
  void prepare_thread() const override {}

  RoundsShape shape(Elements rows, Elements columns) const override {
    RoundsShape all;
    const GradientShape gradient(rows, columns);
    for (const Step& step : program_->synchronize->steps) {
      if (step.value->op == Op::kExchange) all.exchanged.push_back(count(step.value->type(), gradient));
    }
    for (const ProgramState& state : program_->states) all.states += count({kFloatType, state.extent}, gradient);
    return all;
  }

  void turn(const Turn& turn, const EncodeContext& context) const override {
    CASYNC_CHECK(turn.number <= info_.rounds);
    const GradientShape gradient(turn.rows, turn.columns);
    const std::vector<Elements> sizes = shape(turn.rows, turn.columns).exchanged;
    std::vector<std::vector<float>> exchanged;
    for (std::uint32_t i = 0; i < turn.number; ++i) {
      exchanged.emplace_back(turn.exchanged[i], turn.exchanged[i] + sizes[i]);
    }
    States states = states_of(turn, gradient);
    const RandomStream stream{context.seed, context.gradient, context.step, context.first};
    const std::vector<float> made =
        Interpreter(*program_, values_).synchronize(gradient, {turn.gradient, gradient.n}, stream, exchanged, states);
    const bool last = turn.number == info_.rounds;
    std::copy(made.begin(), made.end(), last ? turn.out : turn.exchanged[turn.number]);
    if (!last || turn.states_out == nullptr) return;
    float* to = turn.states_out;
    for (const std::vector<float>& state : states) to = std::copy(state.begin(), state.end(), to);
  }

 private:
  Elements count(const Type& type, const GradientShape& gradient) const {
    return element_count(*program_, type, values_, gradient);
  }

  States states_of(const Turn& turn, const GradientShape& gradient) const {
    States states;
    const float* from = turn.states_in;
    for (const ProgramState& state : program_->states) {
      const Elements size = count({kFloatType, state.extent}, gradient);
      states.push_back(from == nullptr ? std::vector<float>(size) : std::vector<float>(from, from + size));
      if (from != nullptr) from += size;
    }
    return states;
  }

  std::shared_ptr<const Program> program_;
  std::vector<double> values_;
  CodecInfo info_;
};

}  // namespace

Result<std::unique_ptr<RoundsCodec>> make_rounds_program(std::shared_ptr<const Program> program,
                                                         std::span<const std::pair<std::string, double>> parameters) {
  if (!program->synchronize) {
    return invalid_argument("codec `" + program->declares.name + "` does not exchange in rounds");
  }
  const Result<ProgramValues> values = values_for(*program, parameters);
  if (!values) return values.status();
  return std::unique_ptr<RoundsCodec>(std::make_unique<RoundsProgram>(std::move(program), *values));
}

}  // namespace casync::compll
