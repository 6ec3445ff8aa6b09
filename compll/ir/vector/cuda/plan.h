// SPDX-License-Identifier: Apache-2.0
//
// The plan of kernels in vector form: a launch for each function of the program, or for each turn of one that
// exchanges, cut into stages between which tiles wait for each other. compll/codegen/cuda spells it.
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
#include "compll/ir/rounds/rounds_plan.h"
#include "compll/ir/vector/cuda/values.h"
#include "compll/ir/vector/reduction_needs.h"
#include "compll/lang/program.h"
#include "compll/lang/source.h"

namespace casync::compll::cuda_vector {

// Work of a stage. A tile does its share of the elements, and waits for its own threads where the next work needs them.

/// Takes the vector to encode: adds the residual and checks that it is finite.
struct TakeInput {};

/// Stores an array in memory.
struct Fill {
  enum class Manner : std::uint8_t {
    kElements,
    kNeighbours,  ///< a thread computes neighbours, which share random words
    kBlocks,      ///< arrays with an element for each block: a tile has those of its blocks
  };
  std::optional<Id> from;  ///< none: zeros
  Type type;
  Address to;
  Manner manner = Manner::kElements;
  bool evenly = false;  ///< tiles have equal shares, not those of the vector
  bool waits = false;
  Span at = {};
};

/// Stores a section of the payload.
struct Send {
  std::size_t section = 0;
  std::optional<Id> from;  ///< none: one element, the value of the term
  const Term* term = nullptr;
};

/// Stores a state if the caller wants it.
struct KeepState {
  Id from = 0;
  std::size_t state = 0;
};

/// Stores a single value.
struct StoreOne {
  Id from = 0;
  Address to;
};

/// The decoded vector: zeros, elements at distinct places, all elements. And the result's elements by way of memory.
struct GiveZeros {};
struct GiveList {
  Id places = 0, values = 0;
  Span at;
};
struct Give {
  Id from = 0;
};
struct GiveCopied {
  Address from;
};

/// Changes an array at distinct places.
struct Change {
  const Term* term = nullptr;
  Id places = 0;
  std::optional<Id> values;  ///< none: the same value everywhere
  Address to;
  bool waits = false;  ///< ahead of it
};

/// Takes from the residual, which is the encoded vector, the elements that decoding gives.
struct SubtractDecoded {
  Id places = 0, values = 0;
};

// Reductions to one element: at once, or chunk by chunk with the last tile's work. And those of blocks and of vectors.
struct ReduceJoined {
  Reduction by;
  Id from = 0;
  SpaceId slot = 0;
};
struct ReduceChunks {
  Reduction by;
  Id from = 0;
  SpaceId chunks = 0;
};
struct FinishChunks {
  Reduction by;
  Id from = 0;
  SpaceId chunks = 0, slot = 0;
};
struct ReduceBlocks {
  Reduction by;
  Id from = 0;
  SpaceId to = 0;
};
struct ReduceVectors {
  Reduction by;
  Id from = 0;
  SpaceId to = 0;
};

/// The arguments of a call: the tile, or its share of an array; a number of elements; an array; a single value; memory;
/// what is there; the size of blocks; and the function by which a sort goes.
struct Tile {};
struct ShareOf {
  Type type;
};
struct SizeOf {
  Type type;
};
struct ElementsOf {
  Id array = 0;
};
struct MemoryOf {
  SpaceId space = 0;
  ScalarType element;
};
struct StoredIn {
  MemoryOf memory;
};
struct BlockOf {
  Constant size;
};
struct BeforeOf {
  const Term* sort = nullptr;
  std::string name;
};
using Argument =
    std::variant<Tile, ShareOf, SizeOf, ElementsOf, const Term*, MemoryOf, StoredIn, Address, BlockOf, BeforeOf>;

/// A call of a function that works on arrays.
struct Apply {
  std::string function;  ///< of compll/ops/cuda
  std::vector<Argument> arguments;
  std::string words;            ///< as texts of plans have it, with {i} for argument i: `sort {2} into {3}`
  std::optional<Span> at = {};  ///< the statement, if its line is to be there
};

/// A scatter whose places may be there twice stores the array once the last of each is found.
struct FillFromLast {
  const Term* term = nullptr;
  std::string name;
  std::optional<Id> values, into;
  Address to;
  SpaceId last = 0;
};

/// A product of matrices, which may store its matrix as it computes the elements.
struct Multiply {
  const Term* term = nullptr;
  Id matrix = 0, vectors = 0;
  Address to;
};

/// A reduction that a search feeds, which has each element of the input at hand.
struct FedReducer {
  Reduction by;
  std::string name;
  Id from = 0;
  SpaceId slot = 0;
};

// Searches: three digits of the key, each counted by all tiles and chosen by the last one; then places are written.
// Searches that do the same in one stage do it in one loop.
struct ListLargest {
  SearchId search = 0;
  bool takes_input = false;
  std::vector<FedReducer> fed;
};
struct ChooseDigit {
  std::vector<SearchId> searches;
  std::uint32_t digit = 0;
};
struct CountDigit {
  std::vector<SearchId> searches;
  std::uint32_t digit = 0;
};
struct PickLargest {
  std::vector<SearchId> searches;
};
struct PickWhere {
  const Term* term = nullptr;
  Id from = 0;
  SpaceId told = 0, to = 0;
};

using Work = std::variant<TakeInput, Fill, Send, KeepState, StoreOne, GiveZeros, GiveList, Give, GiveCopied, Change,
                          SubtractDecoded, ReduceJoined, ReduceChunks, FinishChunks, ReduceBlocks, ReduceVectors, Apply,
                          FillFromLast, Multiply, ListLargest, ChooseDigit, CountDigit, PickLargest, PickWhere>;

/// Work with its stage.
struct Task {
  std::uint32_t stage = 0;
  Work work;
  bool at_end = false;      ///< the last tile does it after the stage
  std::uint32_t piece = 0;  ///< the multiple of tile_elements that it can be run for at a time; 0: the tile
};

/// A stage. The first works go through the tile together, piece by piece.
struct Stage {
  std::uint32_t piece = 0;  ///< the size of a piece in tile_elements
  std::vector<Work> by_pieces, at_once, at_end;
};

/// The place where the elements of a map with one result are.
enum class Storage : std::uint8_t {
  kNowhere,  ///< they are computed where they are used
  kMemory,
  kProduct,  ///< in memory: the first use, a product, stores them
};

enum class Role : std::uint8_t { kEncode, kDecode, kResult, kTurn };

/// One launch. Each pass below fills in what it decides.
struct Routine {
  const Program* program = nullptr;
  const compll::Routine* routine = nullptr;
  std::vector<const compll::Step*> steps;  ///< of the routine, or of the turn
  std::string name;                        ///< `encode`, `merge`, `decode`, `result`, `turn 0`
  Role role = Role::kEncode;
  RoundsPlan rounds = {};  ///< of a turn: all of them
  std::size_t turn = 0;

  std::vector<std::size_t> uses;                         ///< of each variable
  std::map<const Term*, ParameterCondition> conditions;  ///< of reductions that not all parameters need
  std::map<VariableId, Address> wanted;                  ///< where arrays are wanted
  std::vector<const compll::Step*> changed;              ///< scatters that change an array where it lies
  std::map<const Term*, Storage> storage;                ///< of maps that have a variable
  std::vector<Value> values;
  std::map<VariableId, Id> of_variable;  ///< other variables are a function's own
  std::map<const Term*, Id> of_term;     ///< arrays without a variable, and reductions within values
  std::set<VariableId> made_there;       ///< variables that lie where they are wanted
  std::vector<const Term*> functions;    ///< that reductions go by
  std::vector<Space> workspace;
  std::vector<Search> searches;
  std::uint32_t temporaries = 0;  ///< values that no variable has
  std::vector<Task> tasks;
  bool keeps_residual = false;  ///< encoding subtracts what decoding gives
  std::vector<Stage> stages;
};

/// All functions of a program that exchanges nothing.
struct Plan {
  const Program* program = nullptr;
  Routine encode, decode;
  std::optional<Routine> merge, result;
};

/// All turns of a program that exchanges.
struct Turns {
  const Program* program = nullptr;
  RoundsPlan rounds;
  std::vector<Routine> turns;
};

/// Plans the launches. The program must outlive the plan. Unimplemented, with the reason and its place: only the
/// interpreter runs the program on a GPU, or it is planned by the other function.
Result<Plan> plan_vector(const Program& program, const Source& source);
Result<Turns> plan_turns(const Program& program, const Source& source);

/// The passes that make the plan of a launch, in order.
struct Pass {
  const char* name;
  void (*run)(Routine&);
};
const std::vector<Pass>& passes();

/// The plan of a function, by its name, or of a turn, ahead of all passes.
Routine routine_of(const Program& program, const std::string& name);
Routine turn_of(const Program& program, const RoundsPlan& rounds, std::size_t turn);

/// The launches in the order of their text.
std::vector<const Routine*> routines_of(const Plan& plan);
std::vector<const Routine*> routines_of(const Turns& plan);

/// The work of a task, if it is of this kind; null if not.
template <class Kind>
Kind* work_of(Task& task) {
  return std::get_if<Kind>(&task.work);
}

}  // namespace casync::compll::cuda_vector
