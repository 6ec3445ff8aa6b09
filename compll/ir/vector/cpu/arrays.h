// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "compll/ir/vector/cpu/plan.h"

namespace casync::compll::cpu_vector {

struct Fusion;

/// Arrays: functions that compute elements where they are used, or memory.
class Arrays {
 public:
  explicit Arrays(Fusion& fusion) : fusion_(fusion) {}

  /// The array of a term, which is defined if it has no variable.
  Id array(const Term& term);
  /// The same, after the loop that makes it.
  Id whole_array(const Term& term);
  /// Defines an array; `id`: the variable that it is given to.
  void define(Id to, const Term& term, std::optional<VariableId> id);
  /// Defines the results of a map that has several.
  void define_parts(const Step& step);

 private:
  void define_map(Id to, const Term& term);
  void define_function(Id to, const Term& term);
  void define_gather(Id to, const Term& term);
  void keep(Id to, Id from);

  Fusion& fusion_;
};

}  // namespace casync::compll::cpu_vector
