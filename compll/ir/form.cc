// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/form.h"

#include "compll/lang/syntax/diagnostic.h"

namespace casync::compll {
namespace {

/// "line 3 has `largest`, which cannot be taken apart into tiles"; without the line if it is none of the program's.
std::string reason_of(const Diagnostic& why, const Source& source) {
  const bool has_line = why.at.end != 0 && why.at.begin < source.text().size();
  const std::string line = has_line ? line_in_words(source, why.at) + " has " : "";
  return line + why.message;
}

}  // namespace

CommonForm form_of(const Program& program, const Source& source) {
  if (program.synchronize) {
    return {{Form::Kind::kRounds, "it exchanges within a step"}, nullptr};
  }
  if (Result<Lowered> lowered = lower(program, source)) {
    return {{Form::Kind::kTiles, "each value depends on its element, its block or the tensor"},
            std::make_shared<const Lowered>(std::move(*lowered))};
  }
  return {{Form::Kind::kVector, reason_of(*why_not_lowered(program, source), source)}, nullptr};
}

}  // namespace casync::compll
