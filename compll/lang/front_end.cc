// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/front_end.h"

#include <algorithm>
#include <utility>

#include "compll/lang/syntax/lexer.h"
#include "compll/lang/syntax/parser.h"

namespace casync::compll {

Result<Program> compile(const Source& source, const KnownParameters& known, Known how) {
  Diagnostics diagnostics(source);
  const Tokens tokens = read_tokens(diagnostics);
  const Tree tree = parse(tokens, diagnostics);
  if (!diagnostics.empty()) return diagnostics.status();
  std::optional<Program> program = check(tree, known, diagnostics, how);
  if (!program) return diagnostics.status();
  return *std::move(program);
}

bool has_synchronize(const Source& source) {
  Diagnostics diagnostics(source);
  const Tree tree = parse(read_tokens(diagnostics), diagnostics);
  return std::any_of(tree.functions.begin(), tree.functions.end(),
                     [](const Function& function) { return function.name.text == "synchronize"; });
}

}  // namespace casync::compll
