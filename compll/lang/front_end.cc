// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/front_end.h"

#include <utility>

#include "compll/lang/lexer.h"
#include "compll/lang/parser.h"

namespace casync::compll {

Result<Program> compile(const Source& source, const KnownParameters& known) {
  Diagnostics diagnostics(source);
  const Tokens tokens = read_tokens(diagnostics);
  const Tree tree = parse(tokens, diagnostics);
  if (!diagnostics.empty()) return diagnostics.status();
  std::optional<Program> program = check(tree, known, diagnostics);
  if (!program) return diagnostics.status();
  return *std::move(program);
}

}  // namespace casync::compll
