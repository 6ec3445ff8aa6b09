// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compll/codegen/loops.h"
#include "compll/codegen/rounds_plan.h"
#include "compll/codegen/writer.h"
#include "compll/lang/diagnostic.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// One turn as C++. An array is a name that is called with an index: memory, or a function that computes the element
/// where it is used. A value of n elements that is used once is not stored; a product of vectors is computed by pieces
/// of a row, and the loop that makes a matrix also does the work of the first product with it.
class RoundsRoutine {
 public:
  /// `kept` are variables that are wanted besides the turn's result.
  RoundsRoutine(const Program& program, const TurnPlan& plan, const std::vector<VariableId>& kept, Writer& out,
                Diagnostics& diagnostics);

  /// The number of elements of a value.
  static std::string size(const Type& type);
  /// `const size_t size_0 = ...;` for each size of the program.
  void define_sizes();
  /// Binds the variable to a place in memory, so many floats after a pointer.
  void bind(VariableId id, const std::string& place);
  /// Wants the variable at this place: if it is made in memory, it is made there.
  void want_at(VariableId id, const std::string& place);
  void write_steps();
  /// Stores the value of a variable, or of a term, at this place, unless it is there already.
  void put(const Term& term, const std::string& place, const std::string& what);
  void put(VariableId id, const std::string& place, const std::string& what);

  bool uses(VariableId id) const { return uses_[id] != 0; }
  const std::vector<Loop>& loops() const { return loops_; }

 private:
  /// The text of an array.
  struct Array {
    std::string name;
    std::string memory;                   ///< its place in memory, or ""
    std::string place;                    ///< the place where it is wanted, if it is there
    std::set<std::string> outers;         ///< products that have to be prepared when its elements are read
    std::map<std::string, double> reads;  ///< bytes of memory for each of n elements
    std::string fills;                    ///< memory that its first use has to fill, by the function `name`
  };

  [[noreturn]] void refuse(Span at, const std::string& what);
  void count_uses(const Term& term);
  std::string temporary(const std::string& word) { return word + "_t" + std::to_string(temporaries_++); }

  VariableId made_as(VariableId id) const;
  std::string typed_place(VariableId id) const;
  void write_step(std::size_t index);
  bool is_filled_by_product(std::size_t index) const;
  Array array_of(const Term& term);
  Array define(const Term& term, const std::string& to, const std::string& place);
  Array define_map(const Term& term, const std::string& to);
  Array define_matmul(const Term& term, const std::string& to, const std::string& place);
  Array in_memory(Array array, const Type& type, const std::string& place, const std::string& what);
  Array settled(const Term& term);
  void fill(const Array& array, const Type& type, const std::string& place, const std::string& what);
  void prepare(const Array& array);
  std::string piece(const Array& array);
  void note(const std::string& what, const Array& array, const Type& type, double written);

  std::string reduction(const Term& term, const std::string& count, const std::string& from);
  std::string function(const Term& term);
  void write_body(const Body& body, const std::vector<std::string>& arguments, const std::string& result);
  std::string scalar(const Term& term);
  void hoist(const Term& term);
  std::string expression(const Term& term);
  static std::string length(const Constant& constant);

  const Program& program_;
  const TurnPlan& plan_;
  Writer& out_;
  Diagnostics& diagnostics_;
  std::vector<std::size_t> uses_;  ///< for each variable
  std::map<VariableId, Array> arrays_;
  std::map<VariableId, std::string> values_;  ///< the names of single values
  std::map<VariableId, std::string> places_;  ///< the places where arrays are wanted
  std::map<const Term*, std::string> hoisted_;
  std::vector<Loop> loops_;
  std::size_t temporaries_ = 0;
};

}  // namespace casync::compll
