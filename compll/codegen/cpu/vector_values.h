// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compll/codegen/text/writer.h"
#include "compll/ir/vector/cpu/plan.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// Spells the values of a function in vector form: names, single values as expressions, whose text serves one element
/// and sixteen, and functions of elements.
class VectorValues {
 public:
  VectorValues(const cpu_vector::Routine& plan, Writer& out) : plan_(plan), out_(out) {}

  std::string name(cpu_vector::Id id) const { return cpu_vector::name_of(plan_.values[id]); }
  const Type& type(cpu_vector::Id id) const { return plan_.values[id].type; }
  /// The C++ type of an element, and the number of elements.
  std::string element(cpu_vector::Id id) const;
  std::string size(cpu_vector::Id id) const;
  bool is_of_all(cpu_vector::Id id) const { return type(id).is_over(Extent::Kind::kElements); }

  std::string expression(const Term& term);
  /// The values of a scatter, as an array; of one value everywhere a function that gives it.
  std::string values_of(const std::optional<cpu_vector::Id>& values, const Term& scatter);
  /// Writes a function's lines and what it returns. `sixteen`: it serves sixteen elements, too.
  void write_body(const Body& body, const std::vector<std::string>& arguments, bool sixteen = false);
  /// The call that reduces so many elements of an array one by one; `function`: the one that it reduces by, if any.
  std::string reduction(const Term& term, const std::string& count, const std::string& from,
                        const std::optional<cpu_vector::Id>& function);

 private:
  std::string name_of_variable(VariableId id) const;
  std::string leaf(const Term& term, const std::string& text) const;
  void define(VariableId id, const std::string& value);

  const cpu_vector::Routine& plan_;
  Writer& out_;
  bool of_elements_ = false;                 ///< the text written is a function of an element
  std::map<VariableId, std::string> local_;  ///< the names of its own variables
};

/// The class that reduces sixteen elements at a time; the operation has one.
std::string group_reducer(const Term& term);

}  // namespace casync::compll
