// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "casync/planner/search/evaluator.h"

namespace casync {

/// Gradients that every decision costs the same (Evaluator::kind_of), and the options worth trying for them.
struct GradientClass {
  std::vector<std::size_t> gradients;
  std::vector<const Option*> options;
  double bytes = 0;
};

/// The gradients of a request by size and type.
class GradientClasses {
 public:
  GradientClasses() = default;
  /// `step_price`: as worthwhile(). Errors as all_options().
  static Result<GradientClasses> make(Evaluator& evaluator, double step_price);

  const GradientClass& operator[](std::size_t index) const { return classes_[index]; }
  /// The class of a gradient.
  const GradientClass& of(std::size_t gradient) const { return classes_[class_of_[gradient]]; }
  /// The classes' indices, those with the most bytes first.
  std::vector<std::size_t> by_bytes() const;

 private:
  std::vector<GradientClass> classes_;
  std::vector<std::size_t> class_of_;
};

}  // namespace casync
