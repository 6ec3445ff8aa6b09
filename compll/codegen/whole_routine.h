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
/// memory, a section of a payload, or a function that computes elements where they are used. What goes through all n
/// elements is put off, such that one loop does as much as it can: until something needs the whole of what it makes.
class WholeRoutine {
 public:
  WholeRoutine(const Program& program, const Routine& routine, Writer& out, Diagnostics& diagnostics);

  /// `const size_t size_0 = ...;` for each size of the program.
  void define_sizes();
  /// The gradient is what `source` says: a sum that the first loop puts into memory, and looks at for NaN and infinity.
  void bind_gradient(VariableId id);
  /// The variable is so many floats at a place in memory.
  void bind_memory(VariableId id, const std::string& place);
  /// The variable is what a section holds.
  void bind_section(VariableId id, const Type& type, const std::string& place);
  void write_steps();
  /// Adds to the loop over all elements what it does with each sixteen of this array, and how many bytes it writes.
  void add_to_loop(const std::string& what, const std::string& line, const std::string& array, double written);
  /// The same as the very last of what the loop does.
  void add_last(const std::string& what, const std::string& line, const std::string& array, double written);
  /// A loop of its own, which is written elsewhere.
  void note_loop(const std::string& what, const std::string& array, double written);
  /// Writes the loop that was put off, and what waits for it.
  void write_loop();
  const std::vector<Loop>& loops() const { return loops_; }
  /// The array of this variable is wanted in memory: a scatter makes it there.
  void want_at(VariableId id, const std::string& place);
  /// Whether it was made there.
  bool is_at_place(VariableId id) const { return made_at_place_.count(id) != 0; }
  /// Whether elements of other places are picked: then nothing may be overwritten before the end.
  bool picks_elements() const { return picks_elements_; }

  std::string name(VariableId id) const;
  /// How many elements a value has.
  static std::string size(const Type& type);
  /// The name of an array, after lines that define it where it has none.
  std::string array(const Term& term);
  /// The same, where the loop that makes it has to be over.
  std::string whole_array(const Term& term);
  /// One value, after the lines it needs.
  std::string scalar(const Term& term);
  /// The values of a scatter.
  std::string values(const Term& scatter);

 private:
  [[noreturn]] void refuse(Span at, const std::string& what);
  void count_uses(const Term& term);
  void count_uses(const Body& body);
  void count_uses(const std::vector<Step>& steps);

  /// A loop over elements that waits for blocks is one over tiles: in each of them phase after phase.
  struct Phase {
    std::vector<std::string> elements;  ///< what is done with sixteen, `i`
    std::vector<std::string> blocks;    ///< and then with the tile's blocks, from `begin` to `end`
  };

  void plan_scatters();
  void write_step(const Step& step);
  void settle(const Term& term);
  void define_array(const std::string& to, const Term& term, std::optional<VariableId> id);
  void define_gather(const std::string& to, const Term& term);
  void define_kept(const std::string& to, const std::string& from, const Type& type);
  void define_map(const std::string& to, const Term& term);
  void define_rows(const Step& step);
  void define_scatter(const std::string& to, const Term& term, std::optional<VariableId> id);
  void define_largest(const std::string& to, const Term& term, std::optional<VariableId> id);
  void define_of_blocks(const std::string& to, const Term& term);
  void define_block_values(const std::string& to, const std::string& from, const Term& term);
  void define_hadamard(const std::string& to, const Term& term);
  void define_operator(const std::string& to, const Term& term);
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
  std::map<VariableId, std::vector<VariableId>> copies_;  ///< scatters that begin as a copy of a variable's array
  std::map<VariableId, std::string> copied_to_;           ///< memory where that copy is, for the scatter's variable
  std::map<VariableId, std::string> picked_from_;         ///< memory that has the same elements as a variable's array
  std::vector<std::string> memories_;                     ///< what is bound to memory of n floats
  std::map<std::string, std::map<std::string, double>> read_;  ///< of each array: the memory its element is made of
  std::vector<Loop> loops_;
  std::size_t temporaries_ = 0;
  bool of_elements_ = false;    ///< what is written is a function of an element
  std::set<VariableId> local_;  ///< its own variables
  bool picks_elements_ = false;

  // The loop that is put off.
  int loop_ = 1;
  std::vector<Phase> phases_;
  std::vector<std::string> tiles_;   ///< sizes of blocks that a tile has to be a multiple of
  std::vector<std::string> behind_;  ///< what follows it
  std::set<VariableId> awaited_;     ///< variables that are defined there
  std::map<std::string, std::size_t>
      level_;                         ///< of arrays: the phase that has their elements, where it is not the first
  std::set<std::string> one_by_one_;  ///< arrays that have to be in memory before a sample is taken of them
  std::vector<std::string> last_;     ///< what it does at the very end
  std::vector<std::string> kept_;     ///< arrays that it puts into memory
  Loop noted_;
  std::map<std::string, double> noted_reads_;
};

}  // namespace casync::compll
