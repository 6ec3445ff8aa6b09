// SPDX-License-Identifier: Apache-2.0
//
// Runs a program as it is written, in the plainest way there is: this defines its meaning. All code generated
// from a program has to give the same bytes.
#pragma once

#include <span>
#include <vector>

#include "base/units.h"
#include "compll/interpreter/evaluator.h"
#include "compll/lang/element_count.h"
#include "compll/lang/program.h"
#include "compll/ops/random.h"

namespace casync::compll {

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
  Elements count(const Type& type, Elements n) const { return evaluator_.count(type, n); }

  /// Runs `synchronize` up to its next exchange and returns that exchange's input: `exchanged` has the results of the
  /// earlier ones. After the last one it returns the result and replaces `states` by the new ones.
  std::vector<float> synchronize(const GradientShape& shape, std::span<const float> gradient,
                                 const RandomStream& stream, std::span<const std::vector<float>> exchanged,
                                 States& states);

 private:
  void take_in(const Routine& routine, const GradientShape& shape, std::span<const float> gradient,
               const RandomStream& stream, const States& states);
  void run(const Routine& routine, std::span<const float> gradient, const RandomStream& stream, const States& states);
  void end(const Routine& routine, States& states) const;
  std::vector<Values> sections_of(const Routine& routine, std::span<const float> gradient, const RandomStream& stream,
                                  States& states);

  const Program& program_;
  Evaluator evaluator_;
};

}  // namespace casync::compll
