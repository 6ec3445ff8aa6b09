// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace casync::tools {

/// Reads "4096", "64K", "1M", "2G" (powers of 1024). InvalidArgument: anything else.
Result<Bytes> parse_bytes(const std::string& text);

/// first, first * factor, ... up to last. InvalidArgument: a size that is not understood, last below first, a
/// factor below 2.
Result<std::vector<Bytes>> parse_sizes(const std::string& first, const std::string& last, int factor);

}  // namespace casync::tools
