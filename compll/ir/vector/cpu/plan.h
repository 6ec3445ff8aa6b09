// SPDX-License-Identifier: Apache-2.0
//
// The plan of a program in vector form on a CPU: the arrays that exist and where, the loops over all elements and
// their work, and the calls between them, in the order of their lines. compll/codegen/cpu spells it.
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
#include "compll/lang/program.h"
#include "compll/lang/source.h"

namespace casync::compll::cpu_vector {

/// The index of a value in Routine::values.
using Id = std::uint32_t;

/// A value with a name: an array, a single value, or a helper such as a search.
struct Value {
  std::string word;  ///< the program's name for it, or that of the operator that makes it
  std::uint32_t number = 0;
  bool is_temporary = false;  ///< no variable has it; temporaries have numbers of their own
  Type type;
  bool one_by_one = false;  ///< sixteen elements are computed one after the other
};

/// Its name: `place_7`, or `key_t1` of a temporary.
std::string name_of(const Value& value);

/// The input, which the first loop takes: it adds the residual, keeps the sum and checks that it is finite.
struct Input {
  Id array = 0;
  int loop = 0;  ///< the number of that loop
};

/// An array of n floats that the caller has: a state, or the decoded vector.
struct Given {
  Id array = 0;
  std::optional<std::size_t> state;
};

/// A section of a payload.
struct Received {
  Id value = 0;
  std::size_t section = 0;
};

/// A map that is computed where it is used. One of several results has a part for each.
struct Map {
  Id array = 0;
  const Term* term = nullptr;
  std::vector<std::optional<Id>> arguments;  ///< those that the function uses
  std::vector<std::uint32_t> draws;          ///< the purposes of its random numbers that no map above draws
  bool sixteen = false;                      ///< it serves sixteen elements at a time
  bool called = false;                       ///< a function of its own: it is not inlined
};
struct Part {
  Id array = 0, all = 0;
  std::size_t result = 0;
  bool sixteen = false;
};

struct Range {
  Id array = 0;
};

struct Spread {
  Id array = 0, from = 0;
  Constant block;
};

/// The elements of an array at places that are far from each other.
struct Gather {
  Id array = 0, places = 0, from = 0;
  bool is_copy = false;  ///< `from` is a scatter's array, whose memory is still a copy of what it scatters into
};

/// Memory for an array that is computed once: by a loop if it has n elements, else at once.
struct Keep {
  Id array = 0, from = 0;
};

/// Memory that a loop stores an array in, apart from all other uses of the array: for the scatter that begins as its
/// copy, or for a state.
struct Copy {
  Id from = 0;
  std::optional<Id> scatter;
  std::optional<std::size_t> state;  ///< the memory is that of a state
};

/// Memory with an element for each block.
struct BlockMemory {
  Id array = 0;
};

/// Memory of a rotated array.
struct RotatedMemory {
  Id array = 0;
};

/// Memory of a state that was made nowhere yet.
struct StateMemory {
  std::size_t state = 0;
};

using Definition = std::variant<Input, Given, Received, Map, Part, Range, Spread, Gather, Keep, Copy, BlockMemory,
                                RotatedMemory, StateMemory>;

/// A function of two elements, which a reduction or a sort applies.
struct Function {
  Id name = 0;
  const Term* term = nullptr;
};

/// The integer by which elements are compared.
struct Key {
  Id key = 0, from = 0;
};

/// `largest` or `kth_largest` of n elements: a loop collects candidates, which are searched after the loop.
struct Search {
  Id search = 0, key = 0;
  const Term* term = nullptr;
  bool is_sampled = false;  ///< its first guess takes a sample: the loop computes more than the keys
};
struct Found {
  Id value = 0, search = 0, key = 0;
  const Term* term = nullptr;
};

/// The arguments of a call: a value by its name; a number of elements; a single value; `a < b` of two elements; and the
/// memory from which the function takes its working memory.
struct SizeOf {
  Type type;
};
struct LessOf {
  ScalarType element;
};
struct Workspace {};
using Argument = std::variant<Id, SizeOf, const Term*, LessOf, Workspace>;

/// A call of a function that makes a value: it goes through the elements of arrays at once.
struct Apply {
  Id value = 0;
  std::string function;          ///< of compll/ops/cpu
  std::optional<ScalarType> of;  ///< its template argument
  std::vector<Argument> arguments;
  std::string words;           ///< as texts of plans have it, with {i} for argument i: `sort {1} by {3}`
  std::vector<Id> reads = {};  ///< the arrays that it goes through
  Op op = Op::kVariable;       ///< the operator that goes through them
  double writes = 0;           ///< bytes for each of n elements of the value
};

/// A rotation of an array that has not n elements.
struct Rotate {
  Id array = 0, from = 0;
  Constant block;
};

/// Memory of a scatter, with the elements that it leaves as they are.
struct ScatterMemory {
  Id array = 0;
  std::optional<Id> into;            ///< none: zeros
  std::optional<std::size_t> state;  ///< it is that of a state
};
struct Scatter {
  Id array = 0, places = 0;
  std::optional<Id> values;  ///< none: the same value everywhere
  const Term* term = nullptr;
};

/// A reduction of n elements that a loop feeds, and its result after the loop.
struct OpenReducer {
  Id value = 0;
  const Term* term = nullptr;
};
struct Reduced {
  Id value = 0;
  const Term* term = nullptr;
};
/// A reduction at once.
struct Reduce {
  Id value = 0, from = 0;
  const Term* term = nullptr;
  std::optional<Id> function;
};

using Call =
    std::variant<Function, Key, Apply, Search, Found, Rotate, ScatterMemory, Scatter, OpenReducer, Reduced, Reduce>;

// Work of a loop for each sixteen elements.
struct TakeInput {
  Id array = 0;
};
struct KeepElements {
  Id array = 0, from = 0;
};
struct CopyElements {
  Copy copy;
};
struct FeedSearch {
  Id search = 0, key = 0, from = 0;
  Op op = Op::kLargest;
};
struct FeedReducer {
  Id value = 0, from = 0;
  const Term* term = nullptr;
};
struct StoreCodes {
  std::size_t section = 0;
  Id from = 0;
};
struct StoreState {
  std::size_t state = 0;
  Id from = 0;
};
/// The decoded elements, or those of the result: last, as they may lie where elements are read.
struct GiveElements {
  Id from = 0;
};

// Work for the blocks of a tile, after the elements of its phase.
struct ReduceBlocks {
  Id array = 0, from = 0;
  const Term* term = nullptr;
  std::optional<Id> function;
};
struct ComputeBlocks {
  Id array = 0, from = 0;
};
struct RotateBlocks {
  Id array = 0, from = 0;
  Constant block;
};

using ElementWork =
    std::variant<TakeInput, KeepElements, CopyElements, FeedSearch, FeedReducer, StoreCodes, StoreState, GiveElements>;
using BlockWork = std::variant<ReduceBlocks, ComputeBlocks, RotateBlocks>;

struct Work {
  std::size_t phase = 0;
  std::variant<ElementWork, BlockWork> what;
};

/// A loop over all elements. If something waits for blocks it runs tile by tile: in each tile phase after phase, and in
/// each phase the elements ahead of the blocks.
struct ElementLoop {
  int number = 0;
  std::size_t phases = 1;
  std::vector<Constant> blocks;  ///< sizes that a tile is a multiple of
  std::vector<Work> works;       ///< in the order in which they were joined
  std::size_t fetches_in = 0;    ///< the phase that fetches elements of the next tile
  std::vector<Id> fetched;       ///< arrays in memory whose elements it fetches

  bool has_tiles() const { return phases > 1 || !blocks.empty(); }
};

/// The beginning of a statement of the program.
struct Statement {
  Span at;
};

/// A single value.
struct Single {
  Id value = 0;
  const Term* term = nullptr;
};

/// A section of one element, and one whose elements are not n.
struct StoreOne {
  std::size_t section = 0;
  const Term* term = nullptr;
};
struct StoreAll {
  std::size_t section = 0;
  Id from = 0;
};
/// The decoded list of places and values.
struct GiveList {
  Id places = 0;
  std::optional<Id> values;  ///< none: the same value everywhere
  const Term* term = nullptr;
};
/// The result's elements, by way of memory: elements of other places are read.
struct GiveCopied {
  Id from = 0;
};

using Item = std::variant<Statement, Single, Definition, Call, ElementLoop, StoreOne, StoreAll, GiveList, GiveCopied>;

/// The place where the elements of a map are.
enum class Storage : std::uint8_t {
  kNowhere,   ///< they are computed where they are used
  kGathered,  ///< in memory: the map only picks elements of an array
  kBlocks,    ///< in memory, computed once for each block
  kMemory,
};

enum class Role : std::uint8_t { kEncode, kDecode, kList, kResult };

/// A function of the program. Each pass below fills in what it decides.
struct Routine {
  /// Adds an item behind the others. Out of line: inlined, it makes g++ 12 warn that texts in some items are
  /// uninitialized.
  void add(Item&& item);

  const Program* program = nullptr;
  const compll::Routine* routine = nullptr;
  std::string name;  ///< `encode`, `merge`, `decode`, `result`
  Role role = Role::kEncode;

  std::vector<std::size_t> uses;                            ///< of each variable
  std::vector<std::size_t> picks;                           ///< uses that read single elements of an array
  std::map<VariableId, std::vector<VariableId>> copied_by;  ///< scatters that begin as a copy of a variable's array
  std::map<const Term*, Storage> storage;                   ///< of maps
  std::set<VariableId> kept_parts;                          ///< results of a map of several that are in memory
  std::set<const Term*> one_by_one;                         ///< maps with operations that sixteen doubles lack
  std::set<const Term*> called;                             ///< maps of so many operations that they are not inlined
  std::vector<Value> values;
  std::map<VariableId, Id> of_variable;  ///< other variables are a function's own
  std::map<const Term*, Id> of_term;     ///< reductions within values, arrays they read
  std::map<const Term*, Id> reads_copy;  ///< elements that are read from a scatter's copy
  std::set<std::uint32_t> drawn;         ///< the purposes of random numbers so far: places with one number share it
  std::vector<Item> items;
  std::vector<Loop> loops;  ///< passes over memory, with the bytes they move
};

/// All functions of a program.
struct Plan {
  const Program* program = nullptr;
  std::optional<Constant> block;     ///< the size of blocks that sections have an element for
  bool has_distinct_places = false;  ///< no place of a decoded list occurs twice
  /// A bit for each section that decode reads only for the list's places or values, if places are distinct. Its entries
  /// behind the last place of the gradient need not be there. 0: all of them must.
  std::uint32_t list_sections = 0;
  Routine encode, decode;
  std::optional<Routine> merge, result;
};

/// Returns true if the decoded vector is zeros with values at places.
bool gives_list(const Program& program);

/// Plans the functions. The program must outlive the plan. Unimplemented, with the reason and its place: only the
/// interpreter runs the program.
Result<Plan> plan_vector(const Program& program, const Source& source);

/// The passes that make the plan of a function, in order.
struct Pass {
  const char* name;
  void (*run)(Routine&);
};
const std::vector<Pass>& passes();

/// The plan of a function, by its name, ahead of all passes.
Routine routine_of(const Program& program, const std::string& name);

/// The functions in the order of their text, and the loops over all elements of each.
std::vector<const Routine*> routines_of(const Plan& plan);
std::vector<FunctionLoops> loops_of(const Plan& plan);

}  // namespace casync::compll::cpu_vector
