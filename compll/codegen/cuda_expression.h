// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compll/ir/graph.h"
#include "compll/ir/ranges.h"

namespace casync::compll {

/// The function of compll/ops/cuda that does the operation, for operands of this type.
std::string_view cuda_function(Op op, ScalarType type);

/// How values are written for CUDA: all of them are single elements. Operators are those of C++ where they mean the
/// same; the functions are those of compll/ops/cuda/scalar.cuh, and of nan.cuh where a NaN's bits can be seen.
class CudaExpression {
 public:
  /// The bits of `seen` leave the kernel, if they are floats.
  CudaExpression(const Graph& graph, const std::vector<ValueId>& seen);

  /// A constant: `number` as its type's literal.
  static std::string literal(const Value& value);

  /// The program's own word with the value's number, `scale_27`, or `v27`.
  std::string name(ValueId id) const;

  /// What the value is where it is used: its name, a literal, or, for what is used once, its operation.
  std::string use(ValueId id) const;

  /// The same where nothing binds stronger: between parentheses, behind `=`.
  std::string bare(ValueId id) const;

  /// The operation itself, for the right side of its definition.
  std::string definition(ValueId id) const { return operation(id); }

  /// Whether the value gets a line of its own.
  bool has_line(ValueId id) const;

  /// Arithmetic whose NaN's bits can be seen is written with this before it: `Numbers::add`. What the program asks for
  /// its bits itself stays as it is.
  void write_seen_as(const std::string& numbers);

  /// Marks a value as one that has a name although it is used once.
  void keep(ValueId id) { kept_[id] = true; }

 private:
  void mark_seen(const std::vector<ValueId>& seen);
  bool tells_nans_apart(ValueId id) const;
  bool is_number(ValueId id) const;
  bool is_compute(ValueId id, Op op) const;
  bool has_constant(ValueId id, Op op, double least, double most) const;
  template <class Is>
  bool all_uses(ValueId id, const Is& is) const;
  std::string operation(ValueId id) const;
  std::string conversion(ValueId id) const;
  std::string division(ValueId id) const;
  bool is_rounded(ValueId id) const;
  bool is_of_numbers(ValueId id) const;
  bool is_mild(ValueId id, int factors) const;
  std::string numbers(ValueId id) const { return asked_[id] ? "" : of_seen_; }

  const Graph& graph_;
  std::vector<Range> ranges_;
  std::vector<int> uses_;
  std::vector<bool> kept_;
  std::vector<bool> seen_;   ///< floats whose bits can be seen
  std::vector<bool> asked_;  ///< floats whose bits the program itself asks for, or those of what they become
  std::string of_seen_;      ///< before the names of functions that make them
};

}  // namespace casync::compll
