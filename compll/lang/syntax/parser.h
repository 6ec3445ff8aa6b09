// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/lang/syntax/diagnostic.h"
#include "compll/lang/syntax/token.h"
#include "compll/lang/syntax/tree.h"

namespace casync::compll {

/// Deepest nesting of a program: far beyond what people write, and less than any stack holds.
inline constexpr int kMostNesting = 64;
/// Most operations in a row: each is inside of the next.
inline constexpr int kMostChain = 256;
/// Most levels of a tree, with chains and nesting together: what goes through a tree calls itself at each level.
inline constexpr int kMostHeight = 600;

/// Makes a tree of tokens. After a mistake it goes on at the next statement or item, so that one run finds several;
/// the tree is of use only where `diagnostics` is empty.
Tree parse(const Tokens& tokens, Diagnostics& diagnostics);

}  // namespace casync::compll
