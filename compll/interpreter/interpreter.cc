// SPDX-License-Identifier: Apache-2.0
#include "compll/interpreter/interpreter.h"

#include <utility>

namespace casync::compll {

Interpreter::Interpreter(const Program& program, std::span<const double> parameters)
    : program_(program), evaluator_(program, parameters) {}

void Interpreter::take_in(const Routine& routine, const GradientShape& shape, std::span<const float> gradient,
                          const RandomStream& stream, const States& states) {
  evaluator_.begin(shape);
  evaluator_.draw_from(stream);
  evaluator_.assign(routine.gradient, values_of(gradient));
  for (std::size_t i = 0; i < states.size(); ++i) evaluator_.assign(routine.states[i], values_of(states[i]));
}

void Interpreter::run(const Routine& routine, std::span<const float> gradient, const RandomStream& stream,
                      const States& states) {
  take_in(routine, gradient.size(), gradient, stream, states);
  for (const Step& step : routine.steps) evaluator_.run(step);
}

void Interpreter::end(const Routine& routine, States& states) const {
  for (std::size_t i = 0; i < states.size(); ++i) states[i] = floats_of(evaluator_.of(routine.states_then[i]));
}

std::vector<Values> Interpreter::sections_of(const Routine& routine, std::span<const float> gradient,
                                             const RandomStream& stream, States& states) {
  run(routine, gradient, stream, states);
  std::vector<Values> sections;
  for (const TermPtr& section : routine.sections) sections.push_back(evaluator_.evaluate(*section));
  end(routine, states);
  return sections;
}

std::vector<Values> Interpreter::encode(std::span<const float> gradient, const RandomStream& stream, States& states) {
  return sections_of(program_.encode, gradient, stream, states);
}

std::vector<Values> Interpreter::merge(std::span<const float> sum, const RandomStream& stream, States& states) {
  return sections_of(program_.merge ? *program_.merge : program_.encode, sum, stream, states);
}

std::vector<float> Interpreter::decode(Elements n, std::vector<Values> sections) {
  evaluator_.begin(n);
  for (std::size_t i = 0; i < sections.size(); ++i)
    evaluator_.assign(program_.decode.extracted[i], std::move(sections[i]));
  for (const Step& step : program_.decode.steps) evaluator_.run(step);
  return floats_of(evaluator_.evaluate(*program_.decode.result));
}

std::vector<float> Interpreter::result(std::span<const float> decoded, const RandomStream& stream, States& states) {
  run(*program_.result, decoded, stream, states);
  std::vector<float> gradient = floats_of(evaluator_.evaluate(*program_.result->result));
  end(*program_.result, states);
  return gradient;
}

std::vector<float> Interpreter::synchronize(const GradientShape& shape, std::span<const float> gradient,
                                            const RandomStream& stream, std::span<const std::vector<float>> exchanged,
                                            States& states) {
  const Routine& routine = *program_.synchronize;
  take_in(routine, shape, gradient, stream, states);
  for (const Step& step : routine.steps) {
    if (step.value->op != Op::kExchange) {
      evaluator_.run(step);
      continue;
    }
    if (exchanged.empty()) return floats_of(evaluator_.evaluate(*step.value->arguments.front()));
    evaluator_.assign(step.variables.front(), values_of(exchanged.front()));
    exchanged = exchanged.subspan(1);
  }
  std::vector<float> result = floats_of(evaluator_.evaluate(*routine.result));
  end(routine, states);
  return result;
}

}  // namespace casync::compll
