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

/// The steps of one routine as C++. An array is a name that is called with an index, of one element or of sixteen:
/// memory, a section of a payload, or a function that computes elements where they are used. Steps over all n elements
/// are put off so that one loop does as many as it can: until a step needs the whole of a result.
class WholeRoutine {
 public:
  WholeRoutine(const Program& program, const Routine& routine, Writer& out, Diagnostics& diagnostics);

  /// `const size_t size_0 = ...;` for each size of the program.
  void define_sizes();
  /// Binds the gradient to `source`: a sum that the first loop puts into memory, and checks for NaN and infinity.
  void bind_gradient(VariableId id);
  /// Binds the variable to so many floats at a place in memory.
  void bind_memory(VariableId id, const std::string& place);
  /// Binds the variable to a section.
  void bind_section(VariableId id, const Type& type, const std::string& place);
  void write_steps();
  /// Adds a line to the loop over all elements, for each sixteen of this array, and the bytes that it writes.
  void add_to_loop(const std::string& what, const std::string& line, const std::string& array, double written);
  /// Adds a line to the very end of the loop.
  void add_last(const std::string& what, const std::string& line, const std::string& array, double written);
  /// Notes a loop of its own, which is written elsewhere.
  void note_loop(const std::string& what, const std::string& array, double written);
  /// Writes the loop that was put off, and the lines that wait for it.
  void write_loop();
  const std::vector<Loop>& loops() const { return loops_; }
  /// Wants the array of this variable in memory at this place: a scatter makes it there.
  void want_at(VariableId id, const std::string& place);
  /// Returns true if the array was made at its place.
  bool is_at_place(VariableId id) const { return made_at_place_.count(id) != 0; }
  /// Returns true if elements of other places are read: then nothing may be overwritten until the end.
  bool picks_elements() const { return picks_elements_; }

  std::string name(VariableId id) const;
  /// The number of elements of a value.
  static std::string size(const Type& type);
  /// The name of an array, after lines that define it if it has none.
  std::string array(const Term& term);
  /// The name of an array, after the loop that makes it.
  std::string whole_array(const Term& term);
  /// The text of one value, after the lines it needs.
  std::string scalar(const Term& term);
  /// The values of a scatter.
  std::string values(const Term& scatter);

 private:
  [[noreturn]] void refuse(Span at, const std::string& what);
  void count_uses(const Term& term);
  void count_uses(const Body& body);
  void count_uses(const std::vector<Step>& steps);

  /// A phase of a loop over tiles: a loop over elements that waits for blocks runs phase after phase in each tile.
  struct Phase {
    std::vector<std::string> elements;  ///< lines for each sixteen elements, `i`
    std::vector<std::string> blocks;    ///< lines after them for the tile's blocks, from `begin` to `end`
  };

  void plan_scatters();
  void write_step(const Step& step);
  void settle(const Term& term);
  void define_array(const std::string& to, const Term& term, std::optional<VariableId> id);
  void define_gather(const std::string& to, const Term& term);
  void define_kept(const std::string& to, const std::string& from, const Type& type);
  void define_map_of(const std::string& to, const Term& term, std::optional<VariableId> id);
  void define_map(const std::string& to, const Term& term);
  void define_range(const std::string& to, const Term& term);
  void define_spread(const std::string& to, const Term& term);
  void define_rows(const Step& step);
  void define_scatter(const std::string& to, const Term& term, std::optional<VariableId> id);
  void define_largest(const std::string& to, const Term& term, std::optional<VariableId> id);
  void define_of_blocks(const std::string& to, const Term& term);
  void define_block_values(const std::string& to, const std::string& from, const Term& term);
  void define_hadamard(const std::string& to, const Term& term);
  void define_where(const std::string& to, const Term& term);
  void define_sort(const std::string& to, const Term& term);
  void define_histogram(const std::string& to, const Term& term);
  std::string whole_operand(const Term& term);
  void begin_copies(VariableId id, const std::string& array);
  Phase& phase(std::size_t level);
  std::size_t level(const std::string& array) const;
  void note(const std::string& what, const std::string& array, double written);
  void write_tiles();
  std::optional<std::string> group_reducer(const Term& term) const;
  std::string reduction(const Term& term, const std::string& size, const std::string& array);
  std::string tensor_reduction(const Term& term, const std::string& from);
  std::string temporary(const std::string& word) { return word + "_t" + std::to_string(temporaries_++); }
  std::size_t cost(const Term& term) const;

  void hoist(const Term& term);
  void write_body(const Body& body, const std::vector<std::string>& arguments, const std::string& result);
  std::string expression(const Term& term);
  std::string leaf(const Term& term, const std::string& text) const;
  static std::string in_parameters(ParameterId id);
  static std::string block_size(const Constant& constant);
  std::string function(const Term& term);  ///< a function of two elements, as an argument

  const Program& program_;
  const Routine& routine_;
  Writer& out_;
  Diagnostics& diagnostics_;
  std::vector<std::size_t> uses_;  ///< for each variable
  std::vector<std::size_t> cost_;  ///< operations for an element of each variable's array
  std::map<const Term*, std::string> hoisted_;
  std::map<VariableId, std::string> other_names_;  ///< names of variables that are another variable, or an argument
  std::map<VariableId, std::string> places_;       ///< the places where variables' arrays are to be made
  std::set<VariableId> made_at_place_;
  std::map<VariableId, std::vector<VariableId>> copies_;  ///< scatters that begin as a copy of a variable's array
  std::map<VariableId, std::string> copied_to_;           ///< memory where that copy is, for the scatter's variable
  std::map<VariableId, std::string> picked_from_;         ///< memory that has the same elements as a variable's array
  std::vector<std::string> memories_;                     ///< names that are bound to memory of n floats
  std::map<std::string, std::map<std::string, double>> read_;  ///< for each array: the memory its element is made of
  std::vector<Loop> loops_;
  std::size_t temporaries_ = 0;
  bool of_elements_ = false;    ///< the text written is a function of an element
  std::set<VariableId> local_;  ///< its own variables
  bool picks_elements_ = false;

  // Members of the loop that is put off.
  int loop_ = 1;
  std::vector<Phase> phases_;
  std::vector<std::string> tiles_;   ///< sizes of blocks that a tile has to be a multiple of
  std::vector<std::string> behind_;  ///< lines after it
  std::set<VariableId> awaited_;     ///< variables that those lines define
  std::map<std::string, std::size_t>
      level_;                         ///< of arrays: the phase that has their elements, where it is not the first
  std::set<std::string> one_by_one_;  ///< arrays that have to be in memory before a sample is taken of them
  std::vector<std::string> last_;     ///< lines at its very end
  std::vector<std::string> kept_;     ///< arrays that it stores in memory
  Loop noted_;
  std::map<std::string, double> noted_reads_;
};

}  // namespace casync::compll
