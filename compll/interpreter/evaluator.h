// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "compll/interpreter/array_operators.h"
#include "compll/lang/arithmetic.h"
#include "compll/lang/element_count.h"
#include "compll/lang/program.h"
#include "compll/ops/random.h"

namespace casync::compll {

/// Computes terms, one operation at a time, from the values of variables.
class Evaluator {
 public:
  /// `parameters` has a value for each of the program's, in their order. The program outlives this.
  Evaluator(const Program& program, std::span<const double> parameters);

  /// A function begins: the size of its gradient, and its random numbers.
  void begin(const GradientShape& shape) { shape_ = shape; }
  void draw_from(const RandomStream& stream) { stream_ = stream; }

  void assign(VariableId id, Values values) { values_[id] = std::move(values); }
  const Values& of(VariableId id) const { return values_[id]; }
  /// Computes the step's value and assigns it.
  void run(const Step& step);
  Values evaluate(const Term& term);

  /// Number of elements of a type for n elements of the gradient.
  Elements count(const Type& type, Elements n) const { return element_count(program_, type, parameters_, n); }

 private:
  std::size_t constant(const Constant& constant) const;
  Elements count(const Type& type) const { return element_count(program_, type, parameters_, shape_); }

  // Whole values: one element, or all of an array.
  Values evaluate(const Term& term, ArrayOp op);
  std::vector<Values> evaluate_all(const Term& term);
  std::vector<Values> map(const Term& term);
  ArrayCall call_of(const Term& term);

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
