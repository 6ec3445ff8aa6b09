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

/// The stage in which an array can be read first: its own tile's elements, and anyone's.
struct Ready {
  std::uint32_t own = 0, all = 0;
};

/// One routine of a program as a struct whose functions are its stages. First a plan is made: what each
/// value is, which stage a step belongs to, where in memory its result lies. Then each stage is written with what it
/// refers to.
class CudaWholeRoutine {
 public:
  CudaWholeRoutine(const Program& program, const Routine& routine, Writer& out, Diagnostics& diagnostics);
  /// One turn of a routine that exchanges; `kept` are variables that are wanted besides what the turn hands out.
  CudaWholeRoutine(const Program& program, const TurnPlan& turn, const std::vector<VariableId>& kept, Writer& out,
                   Diagnostics& diagnostics);
  virtual ~CudaWholeRoutine() = default;

  // The plan, in the order of the program.

  /// The variable is memory whose address is this expression, from a stage on; one that is no array is what is there.
  void plan_memory(VariableId id, const std::string& address, Ready ready = {});
  void plan_section(VariableId id, const Type& type, const std::string& address);
  /// The variable's array is wanted at this address, should it be made in memory. An address that ends in a comma is a
  /// call without its last argument, which is memory for whoever does not want it.
  void want_at(VariableId id, const std::string& address);
  /// What is encoded is taken first of all, by itself or by the step that looks at it first.
  void plan_input(const std::string& kind, const std::string& arguments);
  bool is_distinct(const Term& places) const;
  /// Whether it has been made there: of several addresses it was wanted at, it is at the first.
  bool is_at_place(VariableId id, const std::string& address) const {
    return made_at_place_.count(made_as(id)) != 0 && places_.at(made_as(id)) == address;
  }
  /// Before the steps: which of what is wanted is another array that is changed at some places. It is made where it is
  /// wanted, and changed behind all else, by `plan_changes`.
  void find_changed();
  void plan_changes();
  /// Behind all else: the residual, if it is kept; false: decoding does not tell it in time.
  bool plan_residual();
  void plan_steps();
  Ready ready(const Term& term) const;
  Ready ready(VariableId id) const { return values_.at(id).ready; }
  /// A step: its lines in that stage, and what the last tile then does.
  void add(std::uint32_t stage, std::function<void()> write, std::function<void()> finish = {});
  /// One that looks at nothing but the tile's own elements: at one piece of them after the other, too. `chunks`: all
  /// warps have something to do with so many of tile_elements.
  void add_own(std::uint32_t stage, std::function<void()> write, std::function<void()> finish = {},
               std::uint32_t chunks = 1);
  /// What is zero before has to be so afterwards: the last tile sees to it, or a step does.
  enum class Zeros { kNone, kCleared, kByStep };
  /// Memory of the segment: so many bytes.
  std::string place(const std::string& word, const std::string& bytes, Zeros zeros = Zeros::kNone);
  /// And as what it is.
  std::string memory(const std::string& type, const std::string& word, const std::string& bytes,
                     Zeros zeros = Zeros::kNone) {
    return "part.at<" + type + ">(" + place(word, bytes, zeros) + ")";
  }
  /// What the last tile does behind all steps.
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
  /// How text declares n, of which a program that exchanges knows rows and columns, too.
  static std::string declared_n(const Program& program);
  /// A struct whose members follow from n, settings and Lengths: `members` are lines that declare them, `body` sets
  /// them.
  static void write_measures(const Program& program, const std::string& name, const std::vector<std::string>& members,
                             Writer& out, const std::function<void()>& body);
  Writer& out() { return out_; }
  /// struct NAME { ... }, with constants beside kStages; `end` is written where the last tile is done with everything.
  void write(const std::string& name, const std::string& constants, const std::function<void()>& end);

  /// Whether a text refers to this name.
  static bool has_word(const std::string& text, const std::string& word);

  /// Plans what the term needs that is no name of its own.
  void plan_term(const Term& term);

  [[noreturn]] void refuse(Span at, const std::string& what);

 protected:
  struct StageStep {
    std::uint32_t stage;
    std::function<void()> write, finish;
    std::uint32_t piece = 0;  ///< of how many times tile_elements it can be done at a time; 0: of the tile
  };
  /// What a variable is: how its name is defined in a stage that refers to it.
  struct Planned {
    Ready ready;
    std::function<void()> define;
    std::string name;
    std::size_t cost = 0;    ///< of an element that is computed where it is used
    bool computed = false;   ///< an array whose elements are: it is not in memory
    std::string fills = {};  ///< where the product that is the first to look at it puts its elements
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
  /// A search for the largest elements: what the stages that look at it refer to, and the first one behind it.
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
  /// What a payload has of chosen elements.
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
  const std::vector<const Step*> steps_of_program_;  ///< those of the routine, or of the turn
  Writer& out_;
  Diagnostics& diagnostics_;
  std::vector<std::size_t> uses_;
  std::map<const Term*, ParameterCondition> needed_if_;  ///< reductions that not all parameters ask for
  std::map<VariableId, Planned> values_;
  std::map<const Term*, Planned> terms_;       ///< arrays without a name
  std::map<const Term*, Planned> reductions_;  ///< scalars
  std::map<VariableId, std::string> places_;
  std::set<VariableId> made_at_place_;
  std::vector<const Step*> changed_;     ///< scatters
  std::string input_, input_arguments_;  ///< until a step takes the input while it looks at it
  bool is_input_searched_ = false;       ///< that step looks for the largest elements
  /// What else it does with the elements: a reducer takes those of an array.
  struct WithInput {
    const Term* of;
    std::string reducer, name, slot;
  };
  std::vector<WithInput> with_input_;
  std::map<std::string, std::string> searches_;  ///< by their names, what they are made of
  std::map<std::pair<std::uint32_t, std::string>, std::vector<std::string>> called_for_;  ///< by stage and call
  std::map<VariableId, std::string> in_body_;  ///< names within the function that is being written
  std::vector<StageStep> steps_;
  std::vector<Place> memory_;
  std::set<std::string> defined_;  ///< in the stage that is being written
  std::map<const Term*, std::string> functions_;
  std::vector<std::function<void()>> function_texts_;
  std::uint32_t stages_ = 1;
  std::size_t fresh_ = 0;
};

}  // namespace casync::compll
