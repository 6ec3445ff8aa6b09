// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "compll/lang/check/checker.h"
#include "compll/lang/check/code_checker.h"
#include "compll/lang/syntax/tree.h"

namespace casync::compll {

/// Checks the parameters of a codec: those of `param` blocks, and those of encode that are no block. Each has a value
/// that types may be made of: the one that is known, else its default.
class ParameterChecker {
 public:
  ParameterChecker(const Tree& tree, const KnownParameters& known, Known how, CodeChecker& code)
      : tree_(tree), known_(known), how_(how), code_(code) {}

  /// Declares those of `param` blocks.
  void declare_blocks();
  /// Declares those that follow the first two parameters of `encode(float* gradient, uint8* compressed, uint8 bits)`.
  void declare_rest(const Function& function);
  /// Declares the names by which a routine knows blocks, and refuses those of no parameter.
  void begin(const Function& function);
  /// Makes the sections of a payload that are parameters, such as a width, known in decode ahead of `extract`: types
  /// are made of them.
  void know_extracted(const Function& decode);
  void forget_extracted();
  /// Refuses known values that name no parameter.
  void need_all_known() const;

 private:
  void add(const Parameter& parameter, const DeclaredType& type);
  void need_number(const Parameter& parameter, const DeclaredType& type) const;
  void set_range(ProgramParameter& added, const Parameter& parameter);
  void check_range(const ProgramParameter& added, const Parameter& parameter) const;
  void need_held(const ProgramParameter& parameter, double value, const ExpressionPtr& written) const;
  void check_value(const ProgramParameter& parameter, double value, Span at) const;
  double value_of(const ProgramParameter& added, const Parameter& parameter) const;
  bool is_parameter(std::string_view name) const;
  const ParameterList* block_of(const Variable& variable) const;
  std::map<std::string_view, ParameterId> parameters_extracted(const Function& decode) const;
  std::optional<ParameterId> parameter_sent(const Term& term) const;

  const Tree& tree_;
  const KnownParameters& known_;
  const Known how_;
  CodeChecker& code_;
};

}  // namespace casync::compll
