// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compll/codegen/reduction_needs.h"
#include "compll/codegen/rounds_plan.h"
#include "compll/codegen/writer.h"
#include "compll/lang/diagnostic.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// The first stage in which an array can be read: its own tile's elements, and anyone's.
struct Ready {
  std::uint32_t own = 0, all = 0;
};

/// One routine of a program as a struct whose functions are its stages. First a plan is made: each value's definition,
/// each step's stage, and the place in memory of its result. Then each stage is written with the names that it refers
/// to.
class CudaWholeRoutine {
 public:
  CudaWholeRoutine(const Program& program, const Routine& routine, Writer& out, Diagnostics& diagnostics);
  /// One turn of a routine that exchanges; `kept`: variables that are wanted besides the turn's result.
  CudaWholeRoutine(const Program& program, const TurnPlan& turn, const std::vector<VariableId>& kept, Writer& out,
                   Diagnostics& diagnostics);
  virtual ~CudaWholeRoutine() = default;

  // The plan, in the order of the program.

  /// Binds the variable to memory at this address, from a stage on; one that is no array is the value there.
  void plan_memory(VariableId id, const std::string& address, Ready ready = {});
  void plan_section(VariableId id, const Type& type, const std::string& address);
  /// Wants the variable's array at this address, if it is made in memory. An address that ends in a comma is a call
  /// without its last argument, which is memory for use if the caller does not want the array.
  void want_at(VariableId id, const std::string& address);
  /// Plans taking the input: ahead of all steps, by itself or by the step that reads the input first.
  void plan_input(const std::string& kind, const std::string& arguments);
  bool is_distinct(const Term& places) const;
  /// Returns true if the array was made at this address; of several wanted addresses it is made at the first.
  bool is_at_place(VariableId id, const std::string& address) const {
    return made_at_place_.count(made_as(id)) != 0 && places_.at(made_as(id)) == address;
  }
  /// Called ahead of the steps: finds wanted arrays that are another array changed at some places. That array is made
  /// at the wanted address, and `plan_changes` changes it after all steps.
  void find_changed();
  void plan_changes();
  /// Called after all steps: plans the residual, if it is kept; returns false if decoding has to subtract.
  bool plan_residual();
  void plan_steps();
  Ready ready(const Term& term) const;
  Ready ready(VariableId id) const { return values_.at(id).ready; }
  /// Adds a step: its lines in that stage, and the part that the last tile then runs.
  void add(std::uint32_t stage, std::function<void()> write, std::function<void()> finish = {});
  /// Adds a step that reads only the tile's own elements: it may go through them in pieces. `chunks`: all warps have
  /// work with so many times tile_elements.
  void add_own(std::uint32_t stage, std::function<void()> write, std::function<void()> finish = {},
               std::uint32_t chunks = 1);
  /// Zeros of memory that is zero at first and has to be so afterwards: the last tile clears it, or a step does.
  enum class Zeros { kNone, kCleared, kByStep };
  /// Takes so many bytes of the segment's memory.
  std::string place(const std::string& word, const std::string& bytes, Zeros zeros = Zeros::kNone);
  /// Takes memory as an array of this type.
  std::string memory(const std::string& type, const std::string& word, const std::string& bytes,
                     Zeros zeros = Zeros::kNone) {
    return "part.at<" + type + ">(" + place(word, bytes, zeros) + ")";
  }
  /// Writes the last tile's work after all steps.
  void clear_memory() { out_.line("part.clear(at.cleared);"); }
  std::uint32_t stages() const { return stages_; }

  // The text, where a step's lines are written.

  std::string array(const Term& term);
  std::string array(VariableId id) { return name_of_variable(id); }
  std::string scalar(const Term& term);
  static bool is_of_blocks(const Type& type);
  bool uses(VariableId id) const { return uses_[id] != 0; }
  std::uint32_t ready_to_share(const Term& term) const;
  static std::string part_of(const Type& type);
  std::string block_size(const Constant& constant) const;
  static std::string size(const Type& type);
  /// The declaration of n, which in a program that exchanges has rows and columns, too.
  static std::string declared_n(const Program& program);
  /// Writes a struct whose members follow from n, settings and Lengths: `members` are lines that declare them, `body`
  /// sets them.
  static void write_measures(const Program& program, const std::string& name, const std::vector<std::string>& members,
                             Writer& out, const std::function<void()>& body);
  Writer& out() { return out_; }
  /// Writes struct NAME { ... }, with constants next to kStages; `end` writes the last tile's work after all stages.
  void write(const std::string& name, const std::string& constants, const std::function<void()>& end);

  /// Returns true if the text refers to this name.
  static bool has_word(const std::string& text, const std::string& word);

  /// Plans the parts of the term that are no variables.
  void plan_term(const Term& term);

  [[noreturn]] void refuse(Span at, const std::string& what);

 protected:
  struct StageStep {
    std::uint32_t stage;
    std::function<void()> write, finish;
    std::uint32_t piece = 0;  ///< the multiple of tile_elements that it can be run for at a time; 0: the tile
  };
  /// A variable's name, and the code that defines it in a stage that refers to it.
  struct Planned {
    Ready ready;
    std::function<void()> define;
    std::string name;
    std::size_t cost = 0;    ///< operations for an element that is computed where it is used
    bool computed = false;   ///< an array that is not in memory: its elements are computed where it is used
    std::string fills = {};  ///< the memory that the first use, a product, fills with its elements
  };
  struct Place {
    std::string word, bytes;
    Zeros zeros;
  };

  void count_uses(const Term& term, std::size_t times = 1);
  void count_uses(const Body& body);
  void count_uses(const std::vector<const Step*>& steps);
  std::size_t cost(const Term& term) const;
  VariableId made_as(VariableId id) const;

  void plan_step(const Step& step);
  void plan_map(const Term& term, std::size_t result, Planned& planned, const std::string& name);
  void plan_map_of(const Term& term, Planned& planned, const std::string& name, std::optional<VariableId> id);
  void plan_range(const Term& term, Planned& planned, const std::string& name);
  void plan_spread(const Term& term, Planned& planned, const std::string& name);
  void plan_histogram(const Term& term, Planned& planned, const std::string& name);
  void plan_hadamard(const Term& term, Planned& planned, const std::string& name, std::optional<VariableId> id);
  void plan_array(const Term& term, Planned& planned, const std::string& name, std::optional<VariableId> id);
  void plan_kept(const Term& term, Planned& planned, const std::string& name, std::optional<VariableId> id);
  Planned& planned_of(const Term& term);
  void define(const Planned& planned);
  void keep(const Type& type, Planned& planned, std::optional<VariableId> id);
  void keep_computed(const Term& term);
  bool is_filled_by_product(VariableId id) const;
  void plan_matmul(const Term& term, Planned& planned, const std::string& name, std::optional<VariableId> id);
  void plan_outer_product(const Term& term, Planned& planned, const std::string& name, std::optional<VariableId> id);
  void plan_orthonormalize(const Term& term, Planned& planned, const std::string& name, std::optional<VariableId> id);
  void plan_vector_reduction(const Term& term, Planned& planned, const std::string& name);
  static bool is_narrowed(const Term& term);
  std::string only_if_needed(const Term& term);
  void plan_reduction(const Term& term);
  void plan_block_reduction(const Term& term, Planned& planned, const std::string& name);
  bool is_made_of_input(const Term& term) const;
  void take_input_with(const std::function<void(const std::string&)>& write, std::function<void()> finish);
  bool is_reduced_with_input(const Term& term, std::uint32_t stage) const;
  std::string begin_reductions_with_input(const std::string& key);
  void end_reductions_with_input();
  /// A search for the largest elements: the names that its stages refer to, and the first stage after it.
  struct Search {
    std::string part, count, name, places = "nullptr";
    std::uint32_t found = 0;
  };
  Search plan_search(const Term& term, const std::string& name);
  void plan_digit(const Search& search, std::uint32_t stage, std::uint32_t digit);
  std::function<void()> together(const Search& search, std::uint32_t stage, const std::string& begin,
                                 const std::string& end);
  void plan_largest(const Term& term, Planned& planned, const std::string& name);
  void plan_kth_largest(const Term& term);
  void plan_where(const Term& term, Planned& planned, const std::string& name);
  static bool compares_numbers(const Term& term);
  void plan_sort(const Term& term, Planned& planned, const std::string& name);
  void plan_scatter(const Term& term, Planned& planned, const std::string& name, std::optional<VariableId> id);
  /// The chosen elements in a payload.
  struct Sent {
    const Term *places, *values;
  };
  std::optional<Sent> places_of_residual() const;
  std::string array_of_values(const Term& values);
  void write_change(const Term& term, const std::string& address);
  bool is_made_in_memory(VariableId id) const;
  bool is_changed(const Step& step) const;
  std::string address_for(std::optional<VariableId> id, const std::string& word, const Type& type);
  void define_memory(const std::string& name, const std::string& type, const std::string& address);
  std::string name_of_variable(VariableId id);
  std::string name_of_term(const Term& term);
  std::string fresh(const std::string& word) { return word + "_t" + std::to_string(fresh_++); }
  std::uint32_t ready_of_function(const Body& body) const;
  std::uint32_t ready_of_scalar(const Term& term) const;
  std::string reducer(const Term& term, bool& ordered);
  std::string function(const Term& term);
  void write_function(const Term& term);

  void write_body(const Body& body, const std::vector<std::string>& arguments, std::size_t result);
  void define_in_body(VariableId id, const std::string& value);
  void prepare(const Term& term);
  std::string expression(const Term& term);
  std::string parameter(ParameterId id) const { return "settings.parameters[" + std::to_string(id) + "]"; }
  void write_memory();
  static void write_lengths(const Program& program, const std::string& text, Writer& out);
  void write_geometry();
  void write_steps(std::uint32_t stage);
  void write_preamble(const std::string& body);

  const Program& program_;
  const Routine& routine_;
  const std::vector<const Step*> steps_of_program_;  ///< the steps of the routine, or of the turn
  Writer& out_;
  Diagnostics& diagnostics_;
  std::vector<std::size_t> uses_;
  std::map<const Term*, ParameterCondition> needed_if_;  ///< reductions that not all parameters need
  std::map<VariableId, Planned> values_;
  std::map<const Term*, Planned> terms_;       ///< arrays without a name
  std::map<const Term*, Planned> reductions_;  ///< scalars
  std::map<VariableId, std::string> places_;
  std::set<VariableId> made_at_place_;
  std::vector<const Step*> changed_;     ///< scatters
  std::string input_, input_arguments_;  ///< empty once a step takes the input while it reads it
  bool is_input_searched_ = false;       ///< true if that step searches for the largest elements
  /// An array of the same elements that a reducer takes in that step.
  struct WithInput {
    const Term* of;
    std::string reducer, name, slot;
  };
  std::vector<WithInput> with_input_;
  std::map<std::string, std::string> searches_;  ///< by name: their initializers
  std::map<std::pair<std::uint32_t, std::string>, std::vector<std::string>> called_for_;  ///< by stage and call
  std::map<VariableId, std::string> in_body_;  ///< names within the function that is being written
  std::vector<StageStep> steps_;
  std::vector<Place> memory_;
  std::set<std::string> defined_;  ///< the names in the stage that is being written
  std::map<const Term*, std::string> functions_;
  std::vector<std::function<void()>> function_texts_;
  std::uint32_t stages_ = 1;
  std::size_t fresh_ = 0;
};

}  // namespace casync::compll
