// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_whole {

struct Staging;

/// Operators that make arrays in memory: their stages, and their memory.
class Operators {
 public:
  explicit Operators(Staging& staging) : staging_(staging) {}

  /// An operator that is one call of the function with its name, in one stage.
  Id plan_call(const Term& term, const std::string& name);
  Id plan_sort(const Term& term, const std::string& name);
  Id plan_scatter(const Term& term, const std::string& name, std::optional<VariableId> id);
  Id plan_hadamard(const Term& term, const std::string& name, std::optional<VariableId> id);

 private:
  Id plan_repeated(const Term& term, const std::string& name, const Address& to);

  Staging& staging_;
};

}  // namespace casync::compll::cuda_whole
