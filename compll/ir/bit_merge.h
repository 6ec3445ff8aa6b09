// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/lower.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// Whether a sum of payloads can be encoded without looking at each element, because as many elements are all alike as
/// have the same bits in these: a code is one bit, and depends on its own element alone, as what is decoded does on its
/// own code; everything else in a payload is one for the tensor, and made of reductions to which it is all the same in
/// which order elements come, and how often.
bool merges_bits(const Program& program, const Lowered& lowered);

}  // namespace casync::compll
