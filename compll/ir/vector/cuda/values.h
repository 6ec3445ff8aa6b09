// SPDX-License-Identifier: Apache-2.0
//
// The values of a plan in vector form on a GPU, and the memory that they lie in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compll/lang/program.h"

namespace casync::compll::cuda_vector {

/// The index of a value in Routine::values, of a part of the workspace in Routine::workspace, and of a search in
/// Routine::searches.
using Id = std::uint32_t;
using SpaceId = std::uint32_t;
using SearchId = std::uint32_t;

/// The zeros that a launch finds in a part of the workspace and leaves there.
enum class Zeros : std::uint8_t {
  kNone,
  kCleared,  ///< the last tile clears it
  kByStep,   ///< a stage does
};

/// A part of a segment's workspace.
struct Space {
  enum class Count : std::uint8_t {
    kOne,
    kElements,   ///< elements of `of`
    kChunks,     ///< a reduction's chunks of `of`
    kBlock,      ///< `block` elements
    kTiles,      ///< tiles of the launch
    kWarps,      ///< their warps
    kTies,       ///< equal elements that a search takes at a time
    kSelection,  ///< the struct that a search keeps
  };
  std::string word;
  Count count = Count::kOne;
  std::uint32_t bytes = 4;  ///< of each
  Type of = {};
  Constant block = {};
  Zeros zeros = Zeros::kNone;
};

/// An address that kernels know.
struct Address {
  enum class Base : std::uint8_t {
    kWorkspace,
    kInput,      ///< the vector to encode, in the workspace if the caller keeps no residual
    kGiven,      ///< the segment's `in`
    kResult,     ///< the segment's `out`
    kStateIn,    ///< state `index`
    kStateOut,   ///< its new elements, in the workspace if the caller does not want them
    kExchanged,  ///< exchange `index`
    kStored,     ///< value `index` that a turn keeps for later ones
  };
  Base base = Base::kWorkspace;
  std::size_t index = 0;
  ScalarType element = kFloatType;
  std::optional<SpaceId> space;  ///< its part of the workspace, if it may need one

  bool is(Base other, std::size_t of) const { return base == other && index == of; }
};

/// A reduction, as far as its class is concerned.
struct Reduction {
  const Term* term = nullptr;
  bool ordered = false;                 ///< its order can be seen: chunks are kept, and reduced by the last tile
  std::optional<std::size_t> function;  ///< its number in Routine::functions
};

/// The first stage in which an array can be read: its own tile's elements, and anyone's.
struct Ready {
  std::uint32_t own = 0, all = 0;
};

/// An array in memory, and a single value there.
struct Memory {
  Address at;
};
struct Element {
  Address at;
};
/// A section of a payload.
struct Received {
  std::size_t section = 0;
};
/// A single value that each thread computes.
struct Single {
  const Term* term = nullptr;
};
/// An array whose elements are computed where they are used: result `result` of a map. `arguments`: those it uses.
struct Map {
  const Term* term = nullptr;
  std::size_t result = 0;
  std::vector<std::optional<Id>> arguments;
};
struct Range {};
struct Spread {
  Id from = 0;
  Constant block;
};
struct OuterProduct {
  const Term* term = nullptr;
  Id left = 0, right = 0;
};
/// The result of a reduction to one element.
struct Reduced {
  Reduction by;
  SpaceId slot = 0;
};
/// The result of a search for one element.
struct KthLargest {
  SearchId search = 0;
};

using Definition =
    std::variant<Memory, Element, Received, Single, Map, Range, Spread, OuterProduct, Reduced, KthLargest>;

/// A value of the plan. A stage that refers to it defines it.
struct Value {
  std::string name;
  Type type;
  Definition definition;
  Ready ready;
  std::optional<Address> fills = {};  ///< the memory that the first use, a product, fills with its elements

  /// Returns true for an array whose elements are computed where they are used.
  bool is_computed() const;
};

/// A search for the largest elements, with its parts of the workspace. One for `largest` has places, too.
struct Search {
  std::string name;  ///< of its result
  const Term* term = nullptr;
  Id from = 0;
  SpaceId selection = 0, entries = 0, lengths = 0;
  std::optional<SpaceId> told, ties, places;
};

}  // namespace casync::compll::cuda_vector
