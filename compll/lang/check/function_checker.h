// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compll/lang/check/names.h"
#include "compll/lang/syntax/tree.h"
#include "compll/lang/terms.h"

namespace casync::compll {

struct CodeChecker;

/// Puts functions where they are called.
class FunctionChecker {
 public:
  explicit FunctionChecker(CodeChecker& code) : code_(code) {}

  /// The function of this name in the file; null if there is none.
  const Declared::Callable* callable(std::string_view name) const;
  /// The function's results for these arguments.
  Terms call(const Declared::Callable& what, std::string_view name, Terms arguments, Span at);
  /// The function that an operator applies to elements: a name, or one written on the spot. `of`: the operator.
  std::unique_ptr<Body> body_of(const Expression& function, const std::vector<ScalarType>& elements,
                                const std::string& of);

 private:
  Terms run_body(const std::vector<Variable>& parameters, const std::vector<TypeName>& results, const Block& block,
                 std::string_view name, Terms arguments, Span at);

  CodeChecker& code_;
};

}  // namespace casync::compll
