// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/tiles/lower.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// Returns true if a sum of payloads can be encoded a word of bits at a time: each code is one bit that depends only on
/// its own element, a decoded element depends only on its own code, and each other section has one entry for the
/// tensor, made of reductions whose results do not depend on the order of elements or on how often one occurs. Elements
/// with equal bits in all payloads then give equal results.
bool merges_bits(const Program& program, const Lowered& lowered);

}  // namespace casync::compll
