// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/codec/declaration.h"

namespace casync::compll {

/// Rounding to 16 bits, to nearest even.
Declaration declare_bf16();
Declaration declare_fp16();

}  // namespace casync::compll
