// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/lang/syntax/diagnostic.h"
#include "compll/lang/syntax/token.h"

namespace casync::compll {

/// The largest program that is read at all.
inline constexpr std::size_t kMostSourceBytes = std::size_t{1} << 20;
/// The longest name: each of a program's variables has one, also those that calls and repeats write out.
inline constexpr std::size_t kMostNameBytes = 255;

/// Cuts a source into tokens. Comments are // to the end of the line and /* */. Characters that begin no token, and
/// those that no source may have (characters.h), are reported to `diagnostics` and left out.
Tokens read_tokens(Diagnostics& diagnostics);

/// One token a line, with its place: what `compllc --emit=tokens` prints.
std::string text_of(const Source& source, const Tokens& tokens);

}  // namespace casync::compll
