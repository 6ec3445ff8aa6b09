// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

namespace casync::tools {

/// Prints the output of --json to stdout. Bytes of its strings that are no UTF-8, as the name of a file may have, are
/// printed as U+FFFD: nlohmann's `dump` would throw.
void print_json(const nlohmann::ordered_json& json);

}  // namespace casync::tools
