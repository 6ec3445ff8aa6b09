// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compll/ir/tiles/graph.h"
#include "compll/ir/tiles/ranges.h"

namespace casync::compll {

/// The function of compll/ops/cuda that computes the operation, for operands of this type.
std::string_view cuda_function(Op op, ScalarType type);

/// Writes values in CUDA, each as a single element. Operators are those of C++ if they mean the same; functions are
/// those of compll/ops/cuda/scalar.cuh, and of nan.cuh if a NaN's bits can be seen.
class CudaExpression {
 public:
  /// The bits of `seen` leave the kernel, if they are floats.
  CudaExpression(const Graph& graph, const std::vector<ValueId>& seen);

  /// A constant: `number` as its type's literal.
  static std::string literal(const Value& value);

  /// The program's name for it with the value's number, `scale_27`, or `v27`.
  std::string name(ValueId id) const;

  /// The text of a value where it is used: its name, a literal, or, if it is used once, its operation.
  std::string use(ValueId id) const;

  /// The same where nothing binds stronger: between parentheses, or after `=`.
  std::string bare(ValueId id) const;

  /// The operation itself, for the right side of its definition.
  std::string definition(ValueId id) const { return operation(id); }

  /// Returns true if the value gets a line of its own.
  bool has_line(ValueId id) const;

  /// Sets a prefix for arithmetic whose NaN's bits can be seen: `Numbers::add`. Values whose bits the program itself
  /// asks for have no prefix.
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
  std::vector<bool> asked_;  ///< floats whose bits the program itself asks for, and their operands
  std::string of_seen_;      ///< the prefix of functions that compute them
};

}  // namespace casync::compll
