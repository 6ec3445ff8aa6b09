// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "compll/ir/tiles/cuda/plan.h"

namespace casync::compll {

/// The function of compll/ops/cuda that computes the operation, for operands of this type.
std::string_view cuda_function(Op op, ScalarType type);

/// Writes values in CUDA, each as a single element. Operators are those of C++ if they mean the same; functions are
/// those of compll/ops/cuda/scalar.cuh, and of nan.cuh if a NaN's bits can be seen.
class CudaExpression {
 public:
  explicit CudaExpression(const CudaTileValues& values) : values_(values), graph_(*values.of.graph) {}

  /// A constant: `number` as its type's literal.
  static std::string literal(const Value& value);

  /// The program's name for it with the value's number, `scale_27`, or `v27`.
  std::string name(ValueId id) const { return value_name(graph_, id); }

  /// The text of a value where it is used: its name, a literal, or, if it is used once, its operation.
  std::string use(ValueId id) const;

  /// The same where nothing binds stronger: between parentheses, or after `=`.
  std::string bare(ValueId id) const;

  /// The operation itself, for the right side of its definition.
  std::string definition(ValueId id) const { return operation(id); }

  /// Returns true if the value has a line of its own.
  bool has_line(ValueId id) const { return values_.of.has_line[id]; }

  /// Sets a prefix for arithmetic whose NaN's bits can be seen: `Numbers::add`. Values whose bits the program itself
  /// asks for have no prefix.
  void write_seen_as(const std::string& numbers);

 private:
  std::string operation(ValueId id) const;
  std::string conversion(ValueId id) const;
  std::string division(ValueId id) const;
  bool is_rounded(ValueId id) const;
  bool is_of_numbers(ValueId id) const;
  bool is_mild(ValueId id, int factors, int& looked_at) const;
  std::string numbers(ValueId id) const { return values_.asked[id] ? "" : of_seen_; }

  const CudaTileValues& values_;
  const Graph& graph_;
  std::string of_seen_;  ///< the prefix of functions that compute values whose NaN's bits can be seen
};

}  // namespace casync::compll
