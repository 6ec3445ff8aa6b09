// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/lang/syntax/tree.h"

namespace casync::compll {

/// Places in the prelude begin here, so that they are told from those of the program.
inline constexpr std::size_t kPreludeOffset = std::size_t{1} << 40;

/// The functions of prelude.cll, which every program sees and may replace by its own of the same name.
const Tree& prelude();

}  // namespace casync::compll
