// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compll/codegen/loops.h"
#include "compll/codegen/writer.h"
#include "compll/lang/diagnostic.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// The steps of one routine as C++. An array is a name that is called with an index: memory, a section of a payload, or
/// a function that computes the element where it is used. What would be computed often is kept in memory.
class WholeRoutine {
 public:
  WholeRoutine(const Program& program, const Routine& routine, Writer& out, Diagnostics& diagnostics);

  /// `const size_t size_0 = ...;` for each size of the program.
  void define_sizes();
  /// The variable is so many floats at a place in memory.
  void bind_memory(VariableId id, const std::string& place);
  /// The variable is what a section holds.
  void bind_section(VariableId id, const Type& type, const std::string& place);
  void write_steps();
  /// Notes a loop over this array, if it is one over all elements, that writes so many bytes for each.
  void note_loop(const std::string& what, const std::string& array, const Type& over, double written);
  const std::vector<Loop>& loops() const { return loops_; }
  /// The array of this variable is wanted in memory: where it is made there is the place for it.
  void want_at(VariableId id, const std::string& place);
  /// Whether it was made there.
  bool is_at_place(VariableId id) const { return places_.count(id) != 0 && made_at_place_.count(id) != 0; }

  std::string name(VariableId id) const;
  /// How many elements a value has.
  static std::string size(const Type& type);
  /// The name of an array, after lines that define it where it has none.
  std::string array(const Term& term);
  /// One value, after the lines it needs.
  std::string scalar(const Term& term);
  /// The values of a scatter.
  std::string values(const Term& scatter);

 private:
  [[noreturn]] void refuse(Span at, const std::string& what);
  void count_uses(const Term& term);
  void count_uses(const Body& body);
  void count_uses(const std::vector<Step>& steps);

  void write_step(const Step& step);
  void define_array(const std::string& to, const Term& term, bool keep, std::optional<VariableId> id);
  std::string place_for(VariableId id);
  void define_map(const std::string& to, const Term& term);
  void define_scatter(const std::string& to, const Term& term, const std::string& place);
  void note_kept(const std::string& array, const std::string& from, const Type& type);
  std::string taken(const Term& term);  ///< an operator that makes an array in memory
  std::string reduction(const Term& term, const std::string& size, const std::string& array);
  std::string temporary(const std::string& word) { return word + "_t" + std::to_string(temporaries_++); }
  std::size_t cost(const Term& term) const;

  void hoist(const Term& term);
  void write_body(const Body& body, const std::vector<std::string>& arguments, const std::string& result);
  std::string expression(const Term& term);
  static std::string in_parameters(ParameterId id);
  static std::string block_size(const Constant& constant);
  std::string function(const Term& term);  ///< of two elements, as an argument

  const Program& program_;
  const Routine& routine_;
  Writer& out_;
  Diagnostics& diagnostics_;
  std::vector<std::size_t> uses_;  ///< of each variable
  std::vector<std::size_t> cost_;  ///< of an element of each variable's array
  std::map<const Term*, std::string> hoisted_;
  std::map<VariableId, std::string> other_names_;  ///< of what is another variable, or an argument
  std::map<VariableId, std::string> places_;       ///< memory that a variable's array is to be made in
  std::set<VariableId> made_at_place_;
  std::map<std::string, std::map<std::string, double>> read_;  ///< of each array: the memory its element is made of
  std::string last_array_;
  std::vector<Loop> loops_;
  std::size_t temporaries_ = 0;
};

}  // namespace casync::compll
