// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/lang/tree.h"

namespace casync::compll {

/// The functions of prelude.cll, which every program sees and may replace by its own of the same name.
const Tree& prelude();

}  // namespace casync::compll
