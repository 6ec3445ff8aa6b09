// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "casync/simulator/training.h"

namespace casync {

/// Reads a model description in protobuf text format. `source` is the file's name for messages. A gradient that is
/// needed sooner gets a smaller priority.
/// PlanError: each mistake as "source:line:column: what was seen, what was expected", as parse_plan: syntax, unknown
/// fields and versions, gradients named twice or of impossible shape, times outside of the pass they belong to,
/// ranks that are slow twice or by no factor.
Result<Training> parse_model(std::string_view text, std::string_view source);

/// The description as text that parse_model reads back to the same.
std::string model_text(const Training& training);

}  // namespace casync
