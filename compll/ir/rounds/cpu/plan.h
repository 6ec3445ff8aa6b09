// SPDX-License-Identifier: Apache-2.0
//
// The plan of a turn on a CPU: the arrays that exist and where, the loops and products over them, and what is handed
// on, in the order of their lines. compll/codegen/cpu spells it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "compll/ir/loops.h"
#include "compll/ir/rounds/rounds_plan.h"
#include "compll/lang/program.h"
#include "compll/lang/source.h"

namespace casync::compll::cpu_turns {

/// The index of a value in Turn::values.
using Id = std::uint32_t;

/// A value with a name: an array, a single value, or a helper such as the pieces of a matrix.
struct Value {
  std::string word;  ///< the program's name for it, or that of what makes it
  std::uint32_t number = 0;
  bool is_temporary = false;  ///< no variable has it; temporaries have numbers of their own
  Type type;
};

/// Its name: `factor_7`, or `kept_t1` of a temporary.
std::string name_of(const Value& value);

/// Memory that a turn is called with, and that of a result which is not there yet.
struct Place {
  enum class Kind : std::uint8_t { kGradient, kStateIn, kStateOut, kExchanged, kScratch, kResult, kMade };
  Kind kind = Kind::kGradient;
  std::size_t index = 0;  ///< of a state, an exchange, a value that is stored

  bool operator==(const Place&) const = default;
};

/// Memory with elements: a place, that of an array, or a buffer.
using Address = std::variant<Place, Id>;

/// The array of a variable or of a term, as it is at this line.
struct Array {
  Id id = 0;                              ///< gives an element, from memory or computed where it is used
  std::optional<Id> memory;               ///< the value whose memory has the elements
  std::optional<Place> place;             ///< where it is wanted, if it is there
  std::map<std::string, Id> outers = {};  ///< products to prepare ahead of its elements, by their names
  std::set<Id> reads = {};                ///< arrays of n elements in memory that an element reads
  std::optional<Id> fills = {};           ///< the buffer that its first use fills
};

/// The beginning of a statement of the program.
struct Statement {
  Span at;
};

/// A single value from a place, and an array that lies there.
struct Take {
  Id value = 0;
  Place from;
};
struct Given {
  Id array = 0;
  Place at;
};

/// A single value, and the place that wants it.
struct Single {
  Id value = 0;
  const Term* term = nullptr;
  std::optional<Place> to;
};

// Arrays that are computed where they are used.
struct Map {
  Id array = 0;
  const Term* term = nullptr;
  std::vector<Id> arguments;
};
struct Range {
  Id array = 0;
};
struct Spread {
  Id array = 0, from = 0;
  const Term* term = nullptr;
};
/// The product of vectors, which is prepared for pieces of a row.
struct Outer {
  Id array = 0, left = 0, right = 0;
  const Term* term = nullptr;
};

/// Memory of an array, at a place or of the turn's own.
struct Memory {
  Id array = 0;
  std::optional<Place> at;
};
/// Memory of a matrix, which the first product that reads it fills.
struct Buffer {
  Id value = 0;
  std::optional<Place> at;
};
/// An array that is in memory from here on: its own, or a buffer.
struct Stored {
  Id array = 0;
  std::optional<Id> buffer;
};

/// Stores an array.
struct Fill {
  Id from = 0;
  std::vector<Id> outers;  ///< to prepare for each piece; `from` itself writes its elements
  Type type;
  Address to;
};
/// Copies an array's memory.
struct Copy {
  Id from = 0;
  Type type;
  Address to;
};

/// A function of two elements, which a reduction applies.
struct Function {
  Id name = 0;
  const Term* term = nullptr;
};
struct Reduce {
  Id value = 0, from = 0;
  const Term* term = nullptr;
  std::optional<Id> function;
};
struct ReduceBlocks {
  Id array = 0, from = 0;
  const Term* term = nullptr;
  std::optional<Id> function;
};

/// The arguments of a call: a number of elements; the length of a block or of a vector; a single value; the memory of
/// an array; and the memory from which the function takes its working memory.
struct SizeOf {
  Type type;
};
struct LengthOf {
  Constant length;
};
struct MemoryOf {
  Id array = 0;
};
struct Workspace {};
using Argument = std::variant<SizeOf, LengthOf, const Term*, MemoryOf, Workspace>;

/// A call of a function that works on arrays in memory.
struct Apply {
  std::string function;  ///< of compll/ops/cpu
  std::vector<Argument> arguments;
  std::string words;             ///< as texts of plans have it, with {i} for argument i, which is an array
  std::optional<Id> value = {};  ///< what it returns
};
/// Zeros in memory.
struct Zeros {
  Id array = 0;
};
/// Changes the elements at places.
struct Scatter {
  Id array = 0, places = 0;
  std::optional<Id> values;  ///< else the term's one value, for all of them
  const Term* term = nullptr;
};

/// Memory for pieces of a matrix that stays nowhere.
struct Tiles {
  Id value = 0;
};
/// The function that computes pieces of a matrix, into tiles or into the buffer of all.
struct Piece {
  Id value = 0, from = 0;
  std::vector<Id> outers;
  Id to = 0;
  bool is_buffer = false;
};
/// The product of a matrix and vectors.
struct Product {
  Id array = 0;
  Id left = 0;  ///< pieces, or an array in memory
  bool by_pieces = false;
  Id right = 0;  ///< in memory
  const Term* term = nullptr;
};

/// Memory of the result, and its copy to where the gradient may lie.
struct MakeResult {};
struct GiveResult {};

using Item =
    std::variant<Statement, Take, Given, Single, Map, Range, Spread, Outer, Memory, Buffer, Stored, Fill, Copy,
                 Function, Reduce, ReduceBlocks, Apply, Zeros, Scatter, Tiles, Piece, Product, MakeResult, GiveResult>;

/// The place where the elements of an array are.
enum class Storage : std::uint8_t {
  kNowhere,  ///< they are computed where they are used
  kMade,     ///< in memory, as the operator makes them
  kMemory,   ///< stored there
  kBuffer,   ///< stored by the product that reads them first
};

/// A turn. Each pass below fills in what it decides.
struct Turn {
  const Program* program = nullptr;
  RoundsPlan rounds = {};  ///< all of them
  std::size_t number = 0;

  std::vector<std::size_t> uses;          ///< of each variable
  std::map<VariableId, Place> wanted_at;  ///< the place that wants a variable, apart from its uses
  std::map<VariableId, Storage> storage;  ///< of arrays that steps make
  std::vector<Value> values;
  std::size_t temporaries = 0;
  std::map<VariableId, Id> of_variable;  ///< single values; other ones are a function's own
  std::map<VariableId, Array> arrays;    ///< as they are after the last item
  std::map<const Term*, Id> of_term;     ///< reductions within values, arrays they read
  std::vector<Item> items;
  std::vector<Loop> loops;  ///< passes over memory, with the bytes they move

  const TurnPlan& plan() const { return rounds.turns[number]; }
  bool is_last() const { return number + 1 == rounds.turns.size(); }
};

/// All turns of a program that exchanges.
struct Plan {
  const Program* program = nullptr;
  RoundsPlan rounds;
  std::vector<Turn> turns;
};

/// Plans the turns. The program must outlive the plan. Unimplemented, with the reason and its place: only the
/// interpreter runs the program.
Result<Plan> plan_turns(const Program& program, const Source& source);

/// The passes that make the plan of a turn, in order.
struct Pass {
  const char* name;
  void (*run)(Turn&);
};
const std::vector<Pass>& passes();

/// The plan of a turn ahead of all passes.
Turn turn_of(const Program& program, const RoundsPlan& rounds, std::size_t number);

/// The name of a turn, `turn 0`, and its loops over all elements.
std::vector<FunctionLoops> loops_of(const Plan& plan);

}  // namespace casync::compll::cpu_turns
