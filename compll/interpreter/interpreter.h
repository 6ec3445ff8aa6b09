// SPDX-License-Identifier: Apache-2.0
//
// Runs a program as it is written, in the plainest way there is: this defines its meaning. All code generated
// from a program has to give the same bytes.
#pragma once

#include <span>
#include <vector>

#include "base/units.h"
#include "compll/lang/arithmetic.h"
#include "compll/lang/element_count.h"
#include "compll/lang/program.h"
#include "compll/ops/random.h"

namespace casync::compll {

/// A section's elements.
using Values = std::vector<Scalar>;
/// A program's states.
using States = std::vector<std::vector<float>>;

class Interpreter {
 public:
  /// `parameters` has a value for each of the program's parameters, in their order. The program outlives this.
  Interpreter(const Program& program, std::span<const double> parameters);

  /// Runs `encode` and returns its output section by section. `states` has an array for each of the program's; the run
  /// replaces them by the new ones.
  std::vector<Values> encode(std::span<const float> gradient, const RandomStream& stream, States& states);
  /// The same with `merge`, if the program has one.
  std::vector<Values> merge(std::span<const float> sum, const RandomStream& stream, States& states);

  /// Runs `result` on decoded elements. The program has one.
  std::vector<float> result(std::span<const float> decoded, const RandomStream& stream, States& states);

  /// Runs `decode` on sections for n elements.
  std::vector<float> decode(Elements n, std::vector<Values> sections);

  /// Number of elements of a section for n elements of the gradient.
  Elements count(const Type& type, Elements n) const { return element_count(program_, type, parameters_, n); }

  /// Runs `synchronize` up to its next exchange and returns that exchange's input: `exchanged` has the results of the
  /// earlier ones. After the last one it returns the result and replaces `states` by the new ones.
  std::vector<float> synchronize(const GradientShape& shape, std::span<const float> gradient,
                                 const RandomStream& stream, std::span<const std::vector<float>> exchanged,
                                 States& states);

 private:
  void begin(const Routine& routine, std::span<const float> gradient, const RandomStream& stream, const States& states);
  void end(const Routine& routine, States& states) const;
  std::vector<Values> sections_of(const Routine& routine, std::span<const float> gradient, const RandomStream& stream,
                                  States& states);
  std::vector<float> result_of(const Routine& routine);

  std::size_t constant(const Constant& constant) const;
  Elements count(const Type& type) const;
  void run(const std::vector<Step>& steps);
  void run_step(const Step& step);
  void assign(VariableId id, Values values) { values_[id] = std::move(values); }

  // Whole values: one element, or all of an array.
  Values evaluate(const Term& term);
  Values evaluate(const Term& term, ArrayOp op);
  std::vector<Values> evaluate_all(const Term& term);
  std::vector<Values> map(const Term& term);
  Values reduce(const Term& term);
  Values block_reduce(const Term& term);
  Values spread(const Term& term);
  Values range(const Term& term);
  Values scatter(const Term& term);
  Values sort(const Term& term);
  Values matmul(const Term& term);
  Values orthonormalized(const Term& term);
  Scalar reduced(const Term& term, std::span<const Scalar> elements, ScalarType type, Scalar initial);

  // Single elements: one, or inside of a body a few at once, each of which is computed as if it were alone.
  /// Gives a body's parameters and its own variables their values.
  void begin_body(const Body& body, std::span<const std::span<const Scalar>> arguments);
  /// Applies a body of two parameters to each pair; the results replace the first ones.
  void apply(const Body& body, std::span<Scalar> into, std::span<const Scalar> with);
  void elements(const Term& term, std::span<Scalar> out);
  Scalar element(const Term& term);

  const Program& program_;
  std::vector<double> parameters_;
  std::vector<Values> values_;  ///< of each variable
  GradientShape shape_ = 0;
  Elements index_ = 0;  ///< the first element a body is applied to
  RandomStream stream_;
};

}  // namespace casync::compll
