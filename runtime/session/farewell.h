// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace casync::runtime {

/// A rank's progress, sent with its goodbye. The rank serves no peer beyond it.
struct Farewell {
  std::uint32_t steps = 0;               ///< it has completed all steps below this one,
  std::vector<std::uint64_t> gradients;  ///< and of this one the gradients with these keys
};

/// As last words of a Group: at most kMostLastWords bytes. Gradients that find no room are left out, so that the others
/// take them for incomplete.
std::string encode_farewell(const Farewell& farewell);

/// DataLoss: not the bytes of a farewell. No bytes at all are a rank that has completed nothing.
Result<Farewell> decode_farewell(std::string_view bytes);

}  // namespace casync::runtime
