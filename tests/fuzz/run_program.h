// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace casync::compll {

/// Compiles any text. A program that compiles is run: 0, 1 and 40 elements are encoded, decoded and merged with states,
/// and become a result, with the parameters' initial values and with their least ones; payloads that nobody encoded are
/// decoded, too. Ends the process where a promise is broken: the same input gives the same bytes, of the size that was
/// said, and `check` accepts them.
/// Returns true if it compiled.
bool run_program(const std::string& text);

}  // namespace casync::compll
