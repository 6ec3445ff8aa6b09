// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace casync {

/// Single-character insertions, removals, replacements and swaps of neighbours that make `a` into `b`, without
/// regard to case.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known word that was probably meant by `word`; empty when none is close (a third of its length, at least
/// one change). Of equally close words, the first.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

/// "`word`", as messages quote names of plans and programs.
std::string backquoted(std::string_view word);

/// " (did you mean `X`?)", or nothing when no known word is close.
std::string hint(std::string_view word, std::span<const std::string_view> known);

}  // namespace casync
