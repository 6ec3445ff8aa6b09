// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compll/ir/tiles/lower.h"
#include "compll/lang/syntax/diagnostic.h"

namespace casync::compll {

/// Thrown by refuse(), and caught where lowering began.
struct CannotLower {};

/// Notes that `what` cannot be taken apart into tiles, and throws CannotLower.
[[noreturn]] void refuse(Diagnostics& diagnostics, Span at, const std::string& what);

/// The domains of a program's arrays. All of its blocks have one size.
class Domains {
 public:
  explicit Domains(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  /// The domain in which an array's elements are computed.
  Domain domain_of(const Type& type, Span at);
  void use_block(const Constant& block, Span at);
  /// The size of the blocks that have been used.
  const std::optional<Constant>& block() const { return block_; }

 private:
  Diagnostics& diagnostics_;
  std::optional<Constant> block_;
};

/// Follows steps and notes for each variable which value it is.
class TermLowering {
 public:
  TermLowering(const Program& program, Graph& graph, Domains& domains, Diagnostics& diagnostics)
      : program_(program),
        graph_(graph),
        domains_(domains),
        diagnostics_(diagnostics),
        values_(program.variables.size()) {}

  void bind(VariableId variable, ValueId value);
  void run(const std::vector<Step>& steps);
  ValueId value_of(const Term& term) { return all_of(term).front(); }
  /// The value of a variable that is bound.
  ValueId value_of(VariableId variable) const { return *values_[variable]; }

 private:
  std::vector<ValueId> all_of(const Term& term);
  ValueId compute(const Term& term);
  ValueId variable(const Term& term);
  ValueId parameter(const Term& term);
  ValueId index(Domain domain, const Term& term);
  ValueId count(const Term& term);
  std::vector<ValueId> map(const Term& term);
  ValueId reduce(const Term& term);
  std::uint32_t function(const Body& body, ScalarType type);
  ValueId spread(const Term& term);
  ValueId transform(const Term& term);
  ValueId element(const Term& term);
  ValueId random(const Term& term);

  const Program& program_;
  Graph& graph_;
  Domains& domains_;
  Diagnostics& diagnostics_;
  std::vector<std::optional<ValueId>> values_;  ///< one for each variable
  Domain domain_ = Domain::kTensor;             ///< the domain of the map whose function is lowered
};

}  // namespace casync::compll
