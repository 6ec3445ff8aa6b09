// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"

namespace casync::c_api {

/// Puts as much of `text` into `out` as fits, with a NUL at its end; nothing when `capacity` is 0.
void copy_text(std::string_view text, char* out, std::size_t capacity);

/// The same, and the text's whole length (without the NUL) into `length`, by which the caller sees whether it fitted.
/// InvalidArgument: `length` is NULL, or `out` is while `capacity` is not 0.
Status give_text(std::string_view text, char* out, std::size_t capacity, std::size_t* length);

/// Returns true if this can be the content of a JSON string.
bool is_utf8(std::string_view text);

}  // namespace casync::c_api
