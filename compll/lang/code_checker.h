// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compll/lang/diagnostic.h"
#include "compll/lang/names.h"
#include "compll/lang/program.h"
#include "compll/lang/tree.h"

namespace casync::compll {

/// Thrown and caught inside the checker only, after the mistake has been reported.
struct CheckMistake {};

/// Several terms where most have one: the results of a function of several.
using Terms = std::vector<TermPtr>;

/// The task of a function of the file. Encode and merge make sections of a gradient, decode a gradient of sections, and
/// result a gradient of decoded elements.
/// Synchronize takes the place of them all.
enum class RoutineKind : std::uint8_t { kEncode, kMerge, kDecode, kResult, kSynchronize };

/// Checks the inside of functions. Statements run in order; a variable's value is one of the program's
/// variables, each of which is given its value once, so that a branch is a choice between two of them.
class CodeChecker {
 public:
  CodeChecker(Program& program, Diagnostics& diagnostics) : program_(program), diagnostics_(diagnostics) {}

  Names& names() { return names_; }

  /// Declares a name in the innermost scope.
  void declare(const Word& word, decltype(Declared::what) what);
  void declare_variable(const Word& word, DeclaredType type, std::optional<VariableId> value);
  VariableId new_variable(std::string_view name, Type type, Span at);

  /// The values that types may be made of.
  void know(const std::map<std::string_view, double>& known) { known_ = known; }
  /// Forgets assigned values before decode: values that encode assigned are another run's.
  void forget_values() { values_.assign(values_.size(), std::nullopt); }

  /// Checks the body of one of the codec's functions. Its value for `output` arrives in `routine`.
  void check_routine(const Function& function, std::string_view output, RoutineKind kind, Routine& routine);
  /// A state, whose name is a variable of every routine but decode.
  void declare_state(const State& state);
  /// `shape rows columns;`
  void declare_shape(const Word& rows, const Word& columns);

  DeclaredType type_of(const TypeName& name);
  /// A number that is known before the program runs, from numbers, known parameters and arithmetic.
  double constant(const Expression& expression, const std::string& what);

  [[noreturn]] void refuse(Span at, std::string message, std::string hint = "");

 private:
  struct Control;

  // Statements (statement_checker.cc).
  void check_block(const Block& block);
  void check_statement(const Statement& statement);
  void forgive(const Statement& statement);
  void check_node(const Statement& at, const Declare& node);
  void check_node(const Statement& at, const Assign& node);
  void check_node(const Statement& at, const If& node);
  void check_node(const Statement& at, const Repeat& node);
  void check_node(const Statement& at, const Return& node);
  void check_node(const Statement& at, const Evaluate& node);

  // Sections (section_checker.cc).
  struct MarkedSection {
    std::string_view word;           ///< of its coding; empty: it has none
    const Expression* of = nullptr;  ///< the section itself
  };
  static bool is_mark(std::string_view name);
  MarkedSection marked_section(const Expression& argument);
  Coding coding_of(const MarkedSection& marked, const Type& type);
  void extract(const Statement& at, const Call& call);
  void assign_sections(const Word& name, const Expression& value);
  [[noreturn]] void refuse_mark(const Expression& argument, std::size_t section);
  void assign_output(const Statement& at, const Word& name, const Expression& value);
  void assign_gradient(const Word& name, const Expression& value);
  bool makes_gradient() const { return kind_ != RoutineKind::kEncode && kind_ != RoutineKind::kMerge; }
  void begin_states();
  void end_states(const Function& function);
  void need_unread(const Function& function, std::size_t state);
  void store(const Declared& declared, TermPtr value, Span at);
  TermPtr fit(TermPtr value, DeclaredType type, const std::string& name, Span at);
  void choose(VariableId condition, const std::vector<std::optional<VariableId>>& yes,
              const std::vector<std::optional<VariableId>>& no, Span at);
  std::vector<VariableId> keep(Terms values, std::string_view name, Span at);

  // Expressions (expression_checker.cc).
  TermPtr check_one(const Expression& expression);
  TermPtr check_element(const Expression& expression, const std::string& of);
  TermPtr check_condition(const Expression& expression, const std::string& of);
  TermPtr check_array(const Expression& expression, const std::string& of);
  Terms check_terms(const Expression& expression);
  TermPtr check_node(const Expression& at, const Number& node);
  TermPtr check_node(const Expression& at, const Name& node);
  TermPtr check_node(const Expression& at, const Unary& node);
  TermPtr check_node(const Expression& at, const Binary& node);
  TermPtr check_node(const Expression& at, const Conditional& node);
  TermPtr check_node(const Expression& at, const Index& node);
  TermPtr check_node(const Expression& at, const Member& node);
  Terms check_call(const Expression& at, const Call& call);
  TermPtr check_conversion(const Expression& at, const Call& call);
  TermPtr check_scalar_function(const Expression& at, const Call& call);
  TermPtr element_of(TermPtr array, TermPtr index, Span at);
  TermPtr operation(Span at, std::string_view sign, Span sign_at, TermPtr left, TermPtr right);
  const Word* parameter_of_block(const Expression& expression) const;
  TermPtr random(const Expression& at, const Call& call);
  TermPtr random_whole(const Expression& at, const Call& call, ScalarType type, std::uint32_t purpose);
  void need_arguments(const Expression& at, const Call& call, std::size_t least, std::size_t most,
                      const std::string& form);

  // Functions (function_checker.cc).
  const Declared::Callable* callable(std::string_view name) const;
  Terms call(const Declared::Callable& what, std::string_view name, Terms arguments, Span at);
  std::unique_ptr<Body> body_of(const Expression& function, const std::vector<ScalarType>& elements,
                                const std::string& of);
  Terms run_body(const std::vector<Variable>& parameters, const std::vector<TypeName>& results, const Block& block,
                 std::string_view name, Terms arguments, Span at);

  // Operators on arrays (operator_checker.cc).
  static std::span<const std::string_view> operators();
  Terms check_operator(const Expression& at, const Call& call);
  Terms check_map(const Expression& at, const Call& call);
  TermPtr check_reduce(const Expression& at, const Call& call, bool blocks);
  TermPtr check_spread(const Expression& at, const Call& call);
  TermPtr check_range(const Expression& at, const Call& call);
  Constant block_size(const Expression& expression);
  void draws_nothing(const Body& body, Span at, const std::string& of);

  // Operators that pick and move elements (selection_checker.cc).
  TermPtr check_selection(const Expression& at, const Call& call);
  TermPtr keys_of(TermPtr array, const Call& call);
  TermPtr check_largest(const Expression& at, const Call& call);
  TermPtr check_kth_largest(const Expression& at, const Call& call);
  TermPtr check_where(const Expression& at, const Call& call, const std::string& of = "`where`");
  TermPtr check_filter(const Expression& at, const Call& call);
  TermPtr check_sort(const Expression& at, const Call& call);
  TermPtr check_gather(const Expression& at, const Call& call);
  TermPtr check_scatter(const Expression& at, const Call& call);
  TermPtr check_histogram(const Expression& at, const Call& call);
  TermPtr check_hadamard(const Expression& at, const Call& call);
  TermPtr mapped(TermPtr array, const Expression& function, const std::string& of);
  TermPtr picked(TermPtr array, TermPtr places, Span at);
  TermPtr check_places(const Expression& expression, const std::string& of);

  // Operators on matrices, and the exchange (matrix_checker.cc).
  TermPtr check_matmul(const Expression& at, const Call& node);
  TermPtr check_orthonormalize(const Expression& at, const Call& node);
  TermPtr check_exchange(const Expression& at, const Call& node);
  TermPtr check_floats(const Expression& expression, const std::string& of);
  void need_shape(Span at, const std::string& of);

  // Sizes of arrays (size_checker.cc).
  Extent size_of(const Expression& expression, const std::string& of);
  bool is_size_without_padding(const Term& size) const;
  Extent extent_of(TermPtr value, const std::string& text);
  TermPtr vectors_of(const Extent& extent, Dimension dimension) const;
  TermPtr count_of(const Extent& extent) const;
  Extent extent_of_vectors(TermPtr count, Dimension dimension);
  bool has_as_many(const Extent& a, Dimension of_a, const Extent& b, Dimension of_b) const;
  std::string text_of_size(const Term& size) const;
  std::string text_of(const Extent& extent) const;
  std::string text_of(ScalarType type) const { return compll::text_of(type); }
  std::string text_of(const Type& type) const { return compll::text_of(type); }
  void apply_reducer(Term& term, const Expression& reducer, const Call& call, std::size_t at_argument);

  Program& program_;
  Diagnostics& diagnostics_;
  Names names_;
  std::map<std::string_view, double> known_;
  std::vector<std::optional<VariableId>> values_;  ///< of each slot, now
  std::set<std::size_t> spoilt_;                   ///< slots of variables whose value was refused
  std::vector<Step>* steps_ = nullptr;             ///< receives assignments
  Control* control_ = nullptr;                     ///< of the function whose body is checked
  Routine* routine_ = nullptr;
  std::string_view output_;
  RoutineKind kind_ = RoutineKind::kEncode;
  std::vector<std::size_t> states_;             ///< the slot of each
  std::map<VariableId, const Term*> elements_;  ///< what each variable of one element was given
  int level_ = 0;                               ///< functions applied to elements, around this place
  int calls_ = 0;                               ///< functions being checked, one inside of the other
  int branches_ = 0;                            ///< of `if`, around this place and around what has called it
  bool has_shape_ = false;
  std::vector<Step> of_file_;  ///< steps to a value outside of functions, which is known without them
  std::uint32_t purposes_ = 0;
  std::size_t repeats_ = 0;  ///< bodies of `repeat` that were written out
};

}  // namespace casync::compll
