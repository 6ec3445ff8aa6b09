// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace casync::compll {

/// Compiles any text. What compiles is interpreted: 0, 1 and 40 elements are encoded and decoded, with the parameters'
/// initial values and with their least ones, and so are payloads that nobody encoded. Ends the process where a promise
/// is broken: the same input gives the same bytes, of the size that was said, and `check` accepts them.
/// Returns whether it compiled.
bool run_program(const std::string& text);

}  // namespace casync::compll
