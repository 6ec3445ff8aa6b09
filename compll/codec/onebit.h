// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/codec/declaration.h"

namespace casync::compll {

/// The sign of each element, decoded as the mean of its block's elements of that sign.
Declaration declare_onebit();

}  // namespace casync::compll
