// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "compll/codegen/cuda/whole_plan.h"
#include "compll/lang/program.h"

namespace casync::compll {

struct CudaWholeRoutine;

/// The plan of the steps, in the order of the program: arrays are computed where they are used, or once into memory.
class CudaArrays {
 public:
  explicit CudaArrays(CudaWholeRoutine& text) : text_(text) {}

  /// Binds the variable to memory at this address, from a stage on; one that is no array is the value there.
  void plan_memory(VariableId id, const std::string& address, Ready ready = {});
  void plan_section(VariableId id, const Type& type, const std::string& address);
  void plan_steps();
  /// Plans the parts of the term that are no variables.
  void plan_term(const Term& term);
  /// Computes an array once, into memory, instead of where it is used.
  void keep(const Type& type, CudaPlanned& planned, std::optional<VariableId> id);
  /// Stores an array that is read many times.
  void keep_computed(const Term& term);

 private:
  void plan_step(const Step& step);
  void plan_array(const Term& term, CudaPlanned& planned, const std::string& name, std::optional<VariableId> id);
  void plan_map(const Term& term, std::size_t result, CudaPlanned& planned, const std::string& name);
  void plan_map_of(const Term& term, CudaPlanned& planned, const std::string& name, std::optional<VariableId> id);
  void plan_kept(const Term& term, CudaPlanned& planned, const std::string& name, std::optional<VariableId> id);
  void plan_range(const Term& term, CudaPlanned& planned, const std::string& name);
  void plan_spread(const Term& term, CudaPlanned& planned, const std::string& name);
  bool is_filled_by_product(VariableId id) const;
  std::size_t cost(const Term& term) const;

  CudaWholeRoutine& text_;
};

}  // namespace casync::compll
