// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "compll/lang/program.h"

namespace casync::compll {

struct CudaWholeRoutine;

/// The first stage in which an array can be read: its own tile's elements, and anyone's.
struct Ready {
  std::uint32_t own = 0, all = 0;
};

/// A value's name, and the code that defines it in a stage that refers to it.
struct CudaPlanned {
  Ready ready;
  std::function<void()> define;
  std::string name;
  std::size_t cost = 0;    ///< operations for an element that is computed where it is used
  bool computed = false;   ///< an array that is not in memory: its elements are computed where it is used
  std::string fills = {};  ///< the memory that the first use, a product, fills with its elements
};

/// The planned values: of variables, and of terms without a name. In the text of a stage a value is defined where it is
/// first referred to.
class CudaPlan {
 public:
  explicit CudaPlan(CudaWholeRoutine& text) : text_(text) {}

  // Values; those that have no plan yet get an empty one.
  CudaPlanned& value(VariableId id) { return values_[id]; }
  CudaPlanned& term(const Term& array) { return terms_[&array]; }
  CudaPlanned& reduction(const Term& scalar) { return reductions_[&scalar]; }
  /// Null if the variable has no plan: it is a function's own.
  const CudaPlanned* find(VariableId id) const {
    const auto found = values_.find(id);
    return found == values_.end() ? nullptr : &found->second;
  }
  CudaPlanned& planned_of(const Term& term);

  Ready ready(const Term& term) const;
  Ready ready(VariableId id) const { return values_.at(id).ready; }
  /// The stage in which tiles can share an array's elements. An array with one for each block is first its own tile's.
  std::uint32_t ready_to_share(const Term& term) const;
  std::uint32_t ready_of_scalar(const Term& term) const;
  std::uint32_t ready_of_function(const Body& body) const;

  // The text, where a step's lines are written.
  void define(const CudaPlanned& planned);
  void define_memory(const std::string& name, const std::string& type, const std::string& address);
  std::string array(const Term& term);
  std::string array(VariableId id) { return name_of_variable(id); }
  std::string name_of_variable(VariableId id);
  std::string name_of_term(const Term& term);
  /// The names in the stage that is being written.
  std::set<std::string>& defined() { return defined_; }
  /// The names within the function that is being written.
  std::map<VariableId, std::string>& names_in_body() { return in_body_; }

 private:
  CudaWholeRoutine& text_;
  std::map<VariableId, CudaPlanned> values_;
  std::map<const Term*, CudaPlanned> terms_;       ///< arrays without a name
  std::map<const Term*, CudaPlanned> reductions_;  ///< scalars
  std::set<std::string> defined_;
  std::map<VariableId, std::string> in_body_;
};

}  // namespace casync::compll
