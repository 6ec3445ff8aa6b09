// SPDX-License-Identifier: Apache-2.0
//
// The table of operators (operators.def) as the compiler's parts ask it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace casync::compll {

/// The operation of a term; operators.def has its meaning. Arithmetic is that of IEEE 754 and of 32-bit integers that
/// wrap around; no contraction.
enum class Op : std::uint8_t {
#define COMPLL_OPERATION(id, ...) k##id,
#include "compll/lang/operators.def"
};

/// The operations on arrays alone, for a switch that has to know each of them.
enum class ArrayOp : std::uint8_t {
#define COMPLL_ARRAY(id, ...) k##id = static_cast<std::uint8_t>(Op::k##id),
#define COMPLL_CORE(id, ...) k##id = static_cast<std::uint8_t>(Op::k##id),
#include "compll/lang/operators.def"
};

enum class OpGroup : std::uint8_t { kLeaf, kScalar, kRandom, kArray };

/// The value of the graph that an operation becomes (ir/tiles/lower.cc).
enum class GraphForm : std::uint8_t {
  kConstant,
  kVariable,
  kParameter,
  kSize,
  kElement,  ///< the element of the same index; no other one
  kCompute,
  kRandom,
  kMap,  ///< the values of its function
  kReduce,
  kSpread,
  kIndex,
  kTransform,
  kNone,  ///< it needs all elements at once, and its program has the vector form
};

struct ArrayTraits {
  bool gives_one = false;       ///< one element of an array
  bool has_blocks = false;      ///< works on blocks of `block` elements
  bool gives_distinct = false;  ///< gives places, none of them twice
  // A COMPLL_VECTOR on a GPU:
  bool adds = false;      ///< its function adds to its result, which begins with zeros
  bool by_share = false;  ///< a tile reads its own share of the first array alone
};

/// A row of the table.
struct Operation {
  std::string_view name;  ///< as in texts of programs: `block_reduce`
  OpGroup group;
  GraphForm lowered;
  std::string_view sign;      ///< of C++, between two operands; "" if it has none
  std::string_view function;  ///< of compll/ops, or the sign of C++ in front of an operand; "" if it has none
  ArrayTraits traits;
};

inline constexpr auto kOperations = std::to_array<Operation>({
#define COMPLL_OPERATION(id, name, group, lowered, sign, function, ...) \
  {name, OpGroup::group, GraphForm::lowered, sign, function, {__VA_ARGS__}},
#include "compll/lang/operators.def"
});

constexpr const Operation& operation_of(Op op) { return kOperations[static_cast<std::size_t>(op)]; }
constexpr bool is_scalar(Op op) { return operation_of(op).group == OpGroup::kScalar; }
constexpr bool is_random(Op op) { return operation_of(op).group == OpGroup::kRandom; }

/// The operation as one on arrays; empty if it is none.
constexpr std::optional<ArrayOp> array_op(Op op) {
  if (operation_of(op).group != OpGroup::kArray) return std::nullopt;
  return static_cast<ArrayOp>(op);
}

/// The operands that a sign takes.
enum class OperandsOf : std::uint8_t {
  kNumbers,
  kIntegers,
  kShift,     ///< integers: a value and a count, each of a type of its own
  kCompared,  ///< numbers, which give a bool
  kBools,
};

/// A sign between two operands.
struct SignWord {
  std::string_view sign;
  Op op;
  OperandsOf operands;
  int binds;     ///< the higher the tighter; C's order
  bool swapped;  ///< a > b is b < a
};

inline constexpr auto kSignWords = std::to_array<SignWord>({
#define COMPLL_SIGN(sign, id, operands, binds, swapped) {sign, Op::k##id, OperandsOf::operands, binds, swapped},
#include "compll/lang/operators.def"
});

/// Null if there is no such sign between two operands.
constexpr const SignWord* sign_word(std::string_view sign) {
  for (const SignWord& each : kSignWords) {
    if (each.sign == sign) return &each;
  }
  return nullptr;
}

/// The words that a program calls: operators, functions of elements, and the words around sections.
std::span<const std::string_view> called_words();

}  // namespace casync::compll
