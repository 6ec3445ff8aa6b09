// SPDX-License-Identifier: Apache-2.0
//
// What a codec computes, as one list of values in an order in which each comes after what it is made of. There are no
// arrays and no loops here: a value is computed once for the tensor, once for each block or once for each element, and
// everything that happens to one element stands together. That is what makes one pass over memory of many operators.
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

/// How often a value is computed.
enum class Domain : std::uint8_t { kTensor, kBlock, kElement };

struct Value {
  enum class Kind : std::uint8_t {
    kInput,        ///< what is encoded: an element of the gradient, feedback included
    kSection,      ///< an element of a payload's section
    kState,        ///< an element of what the codec keeps, as it was
    kConstant,     ///< `number`
    kParameter,    ///< `parameter`
    kCount,        ///< how many elements there are, or blocks
    kIndex,        ///< of the element, or of the block
    kCompute,      ///< `op` of its arguments
    kSpread,       ///< one value for each of several: a block's for its elements, the tensor's for blocks or elements
    kReduce,       ///< of a value's elements or blocks: one for the tensor
    kBlockReduce,  ///< of a value's elements: one for each block
    kTransform,    ///< each `turned` of a value's elements times the Walsh-Hadamard matrix
  };
  Kind kind = Kind::kConstant;
  Domain domain = Domain::kTensor;
  ScalarType type;
  std::vector<ValueId> arguments;
  double number = 0;
  ParameterId parameter = 0;
  std::uint32_t section = 0;  ///< its index among the program's sections
  std::uint32_t state = 0;    ///< and among its states
  Op op = Op::kConstant;
  std::uint32_t purpose = 0;  ///< of random numbers
  Reducer reducer = Reducer::kSum;
  Domain over = Domain::kElement;  ///< of kReduce and kCount: what is counted or reduced
  std::uint32_t function = 0;      ///< of Reducer::kUser: its index among the graph's functions
  Constant turned;                 ///< of kTransform: how many elements are turned together
  std::string name;                ///< the program's own word for it, or ""
  Span at;
};

/// A function of two elements that the user reduces by: a small graph whose first two values are its arguments.
struct ReducerFunction;

class Graph {
 public:
  const std::vector<Value>& values() const { return values_; }
  const Value& operator[](ValueId id) const { return values_[id]; }
  const std::vector<ReducerFunction>& functions() const { return functions_; }

  /// The id of this value: of the one that is there already where it computes the same. Constants are folded, and what
  /// is the same for all elements of a block is computed for the block.
  ValueId add(Value value);
  std::uint32_t add(ReducerFunction function);

  ValueId constant(ScalarType type, double number, Span at);
  ValueId compute(Op op, ScalarType type, std::vector<ValueId> arguments, Span at);
  /// Gives a value the program's word for it, if it has none.
  void name(ValueId id, const std::string& word);
  /// Whether any value is a kTransform.
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

/// One value a line: what `compllc --emit=ir` prints.
std::string text_of(const Graph& graph, const Program& program);

}  // namespace casync::compll
