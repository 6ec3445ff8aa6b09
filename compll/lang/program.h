// SPDX-License-Identifier: Apache-2.0
//
// The typed tree: a program whose names are resolved, whose types are known and whose user functions are where they
// are called. The interpreter runs it, and it is lowered to IR.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compll/lang/operators.h"
#include "compll/lang/source.h"
#include "compll/lang/type.h"
#include "compll/ops/coding.h"
#include "compll/ops/exchange_kind.h"

namespace casync::compll {

/// The index of a variable among a program's variables.
using VariableId = std::uint32_t;

/// The products of a matrix of rows x columns. Sums begin with zero; vectors that one side lacks are zeros.
enum class MatmulForm : std::uint8_t {
  kOfRows,     ///< matrix, vectors of columns: each row times each vector. Lane i of 16 takes the products i, i + 16,
               ///< ... in turn; then the lanes are combined in halves, as in a reduction
  kOfColumns,  ///< matrix, vectors of rows: each column times each vector, from the first row to the last
  kOuter,      ///< vectors of rows, vectors of columns: the matrix that is the sum of their products, from the first
               ///< vector to the last
};

/// The place that is in no array.
inline constexpr std::uint32_t kNowhere = 0xffffffff;

/// The operation of a reduction. All orders are fixed: in a chunk of 4096 lane i of 16 takes elements i, i + 16, ... in
/// turn; then the lanes are combined in halves, the one eight further up to the first eight, and so on. The results of
/// chunks are reduced the same way.
enum class Reducer : std::uint8_t {
  kSum,        ///< of floats: a double; of integers: int or uint, wrapping around
  kMin,        ///< not of NaN, and a zero has no sign; of nothing the greatest value there is, infinity for floats
  kMax,        ///< the same; of nothing the least
  kMagnitude,  ///< the largest |x|, by its bits: infinity and NaN are on top. 0 of nothing
  kCount,      ///< of what is not zero, uint
  kUser,       ///< `function` of two elements, from the initial value on
};

/// Names as in texts of programs: `block_reduce`, `magnitude`.
std::string_view name_of(Op op);
std::string_view name_of(Reducer reducer);
std::string_view name_of(Dimension dimension);

struct Term;
using TermPtr = std::unique_ptr<Term>;

/// A function applied to elements: its parameters and its results, each result a term over them and over variables
/// outside. Branches have become kSelect.
struct Body {
  std::vector<VariableId> parameters;
  std::vector<struct Step> steps;  ///< its own variables, each given its value once, in order
  std::vector<TermPtr> results;
};

struct Term {
  Op op = Op::kConstant;
  Span at;
  std::vector<Type> types;  ///< one, but for several results
  std::vector<TermPtr> arguments;
  double number = 0;
  VariableId variable = 0;
  ParameterId parameter = 0;
  std::uint32_t purpose = 0;
  Constant block;
  MatmulForm form = MatmulForm::kOfRows;
  Reducer reducer = Reducer::kSum;
  ExchangeKind exchange = ExchangeKind::kSum;
  std::unique_ptr<Body> function;

  const Type& type() const { return types.front(); }
};

/// One assignment: the variables get the term's values.
struct Step {
  std::vector<VariableId> variables;
  TermPtr value;
};

struct ProgramVariable {
  std::string name;  ///< as written
  Type type;
  Span at;
};

/// A parameter with its range.
struct ProgramParameter {
  std::string name;
  ScalarType type;
  double initial = 0, least = 0, most = 0, step = 0;
  std::vector<double> choices;  ///< empty: any value in the range
  std::string meaning;
  bool required = false;  ///< it has no default: the caller gives the value
  bool fixed = false;     ///< types are made of it, or it is required: another value is another program

  /// Returns true if a value is in the range, a whole number of steps from `least`, and whole if the type is.
  bool allows(double value) const;
  /// The allowed values in words: "a whole number from 16 to 256 in steps of 16".
  std::string allowed() const;
};

/// A section of a payload: an argument of `concat`, in its order.
struct Section {
  std::string name;
  Type type;
  Coding coding = Coding::kPlain;
};

/// The word that `concat` and `extract` mark a section by: `packed`, `rising`, `elias`; of kPlain none.
std::string_view word_of(Coding coding);

/// The word of an exchange in a program: `max`, `elias`; of a sum none.
std::string_view word_of(ExchangeKind kind);

/// One function of a codec: from the gradient or the sections to the sections or the gradient.
struct Routine {
  std::vector<Step> steps;
  VariableId gradient = 0;              ///< its input, except for decode
  std::vector<TermPtr> sections;        ///< encode, merge: its output
  std::vector<VariableId> extracted;    ///< decode: the variables of the sections
  TermPtr result;                       ///< decode, result, synchronize: the gradient
  std::vector<VariableId> states;       ///< except for decode: the variable of each state
  std::vector<VariableId> states_then;  ///< and its value afterwards
};

/// An array of floats that a codec keeps from step to step.
struct ProgramState {
  std::string name;
  float initial = 0;  ///< of each element
  Extent extent;
};

/// The number of elements of an array, computed from n and parameters; above n it counts as n.
struct ProgramSize {
  TermPtr value;     ///< uint, of constants, parameters, dimensions and sizes of arrays
  std::string text;  ///< as the program has it where it is first used
};

/// The declarations of a codec.
struct Declarations {
  std::string name, summary, source;
  std::uint8_t number = 0, version = 1;
  std::uint64_t digest = 0;  ///< of the source, if it is a user's file
  bool contractive = false, unbiased = false;
  bool feedback = false;          ///< on by default
  bool feedback_offered = false;  ///< offered, but off by default
  /// Magnitudes from here on become infinite, and are reported as infinite.
  double overflow = std::numeric_limits<double>::infinity();
  bool shared_numbers = false;  ///< all ranks draw the same random numbers, and the merging rank does, too
  bool votes = false;           ///< merging counts codes: raw elements never take part, nor sums of some ranks
  bool exact_merge = false;     ///< encoding a sum of decoded elements loses nothing
  bool shape = false;           ///< the program names the rows and columns of the gradient as a matrix
};

// Limits of a codec (docs/language.md). The checker refuses programs with more.
inline constexpr std::size_t kSectionLimit = 16;    ///< values in `concat`
inline constexpr std::size_t kParameterLimit = 15;  ///< parameters
inline constexpr std::size_t kChoiceLimit = 16;     ///< values in the list of one parameter
inline constexpr std::size_t kStateLimit = 8;       ///< states
inline constexpr std::uint32_t kMostExchanges = 8;  ///< exchanges in one step

struct Program {
  Declarations declares;
  std::vector<ProgramParameter> parameters;
  std::vector<ProgramVariable> variables;
  std::vector<Section> sections;
  std::vector<ProgramState> states;
  std::vector<ProgramSize> sizes;
  Routine encode, decode;
  std::optional<Routine> merge;        ///< encodes the sum of decoded elements; without it encode does
  std::optional<Routine> result;       ///< from the decoded result of all ranks to the gradient
  std::optional<Routine> synchronize;  ///< in place of all the others: from the gradient to the result of all ranks
  std::uint32_t rounds = 0;            ///< steps of synchronize that are an exchange
};

/// Returns true if a section is coded: then a payload's size depends on the elements.
bool has_codings(const Program& program);

/// The typed tree as text: what `compllc --emit=typed` prints.
std::string text_of(const Program& program);

/// Parts of it: steps, each in a line of its own and two spaces deep; a value; and the name of a variable with its
/// number.
std::string text_of(const Program& program, const std::vector<const Step*>& steps);
std::string text_of(const Program& program, const Term& term);
std::string name_of(const Program& program, VariableId id);

}  // namespace casync::compll
