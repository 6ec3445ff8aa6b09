// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_vector {

struct Staging;

/// Arrays: functions that compute elements where they are used, or memory. Values lie in the order of the program.
class Arrays {
 public:
  explicit Arrays(Staging& staging) : staging_(staging) {}

  void plan_step(const compll::Step& step);
  /// Plans the parts of the term that are no variables.
  void plan_term(const Term& term);
  /// Computes an array once, into memory, instead of where it is used. Returns the array there.
  Id keep(Id array, std::optional<VariableId> id);
  /// Stores an array that is read many times.
  void keep_computed(const Term& term);

 private:
  void plan_parts(const Term& term);
  Id plan_array(const Term& term, const std::string& name, std::optional<VariableId> id);
  Id plan_map(const Term& term, std::size_t result, const std::string& name);
  Id plan_map_of(const Term& term, const std::string& name, std::optional<VariableId> id);
  Id plan_kept(const Term& term, const std::string& name, std::optional<VariableId> id);

  Staging& staging_;
};

}  // namespace casync::compll::cuda_vector
