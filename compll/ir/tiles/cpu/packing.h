// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/lang/type.h"

namespace casync::compll {

/// Returns true if many codes of this type are packed together (compll/ops/cpu/packed-inl.h).
inline bool is_packed(ScalarType type) { return type.is_integer() && (type.bits == 2 || type.bits == 4); }

}  // namespace casync::compll
