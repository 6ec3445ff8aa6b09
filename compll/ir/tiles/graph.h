// SPDX-License-Identifier: Apache-2.0
//
// A codec's computation as one list of values, ordered so that each value comes after its operands. There are no arrays
// and no loops here: a value is computed once for the tensor, once for each block or once for each element, and all
// operations on one element stand together. That is why many operators become one pass over memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compll/lang/arithmetic.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// The index of a value in its graph.
using ValueId = std::uint32_t;

/// The unit that a value is computed for.
enum class Domain : std::uint8_t { kTensor, kBlock, kElement };

struct Value {
  enum class Kind : std::uint8_t {
    kInput,        ///< an element of the vector to encode: of the gradient, feedback included
    kSection,      ///< an element of a payload's section
    kState,        ///< an element of an array that the codec keeps, with its old value
    kConstant,     ///< `number`
    kParameter,    ///< `parameter`
    kCount,        ///< the number of elements, or of blocks
    kIndex,        ///< the index of the element, or of the block
    kCompute,      ///< `op` of its arguments
    kSpread,       ///< one value for each of several: a block's for its elements, the tensor's for blocks or elements
    kReduce,       ///< reduces a value's elements or blocks to one value for the tensor
    kBlockReduce,  ///< reduces a value's elements to one value for each block
    kTransform,    ///< each `rotated` of a value's elements times the Walsh-Hadamard matrix
  };
  Kind kind = Kind::kConstant;
  Domain domain = Domain::kTensor;
  ScalarType type;
  std::vector<ValueId> arguments;
  double number = 0;
  ParameterId parameter = 0;
  std::uint32_t section = 0;  ///< its index among the program's sections
  std::uint32_t state = 0;    ///< its index among the program's states
  Op op = Op::kConstant;
  std::uint32_t purpose = 0;  ///< the purpose of random numbers
  Reducer reducer = Reducer::kSum;
  Domain over = Domain::kElement;  ///< kReduce and kCount: the domain that is reduced or counted
  std::uint32_t function = 0;      ///< Reducer::kUser: its index among the graph's functions
  Constant rotated;                ///< kTransform: the number of elements that are transformed together
  std::string name;                ///< the program's name for it, or ""
  Span at;
};

/// A function of two elements that the user reduces by: a small graph whose first two values are its arguments.
struct ReducerFunction;

class Graph {
 public:
  const std::vector<Value>& values() const { return values_; }
  const Value& operator[](ValueId id) const { return values_[id]; }
  const std::vector<ReducerFunction>& functions() const { return functions_; }

  /// Returns the id of this value, which is that of an existing one if it computes the same. Folds constants, and
  /// computes a value that is the same for all elements of a block once for the block.
  ValueId add(Value value);
  std::uint32_t add(ReducerFunction function);

  ValueId constant(ScalarType type, double number, Span at);
  ValueId compute(Op op, ScalarType type, std::vector<ValueId> arguments, Span at);
  /// Gives a value the program's name for it, if it has none.
  void name(ValueId id, const std::string& word);
  /// Returns true if any value is a kTransform.
  bool has_transforms() const;

 private:
  std::optional<ValueId> folded(const Value& value);
  std::optional<ValueId> simplified(const Value& value);
  std::optional<ValueId> hoisted(const Value& value);
  bool is_compute(ValueId id, Op op) const { return values_[id].kind == Value::Kind::kCompute && values_[id].op == op; }
  bool is_constant(ValueId id) const { return values_[id].kind == Value::Kind::kConstant; }

  std::vector<Value> values_;
  std::vector<ReducerFunction> functions_;
  std::map<std::vector<std::uint64_t>, ValueId> known_;
};

struct ReducerFunction {
  Graph graph;
  ValueId result = 0;
};

/// The graph as text, one value a line: the output of `compllc --emit=ir`.
std::string text_of(const Graph& graph, const Program& program);

}  // namespace casync::compll
