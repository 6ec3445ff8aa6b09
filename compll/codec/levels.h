// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/codec/declaration.h"

namespace casync::compll {

/// Blocks of elements as whole multiples of a scale of their own, -127..127 or -7..7.
Declaration declare_int8();
Declaration declare_int4();

}  // namespace casync::compll
