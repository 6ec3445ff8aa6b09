// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/codegen/text/writer.h"
#include "compll/ir/tiles/cpu/plan.h"

namespace casync::compll {

/// Writes struct Tensor, a function for each pass of encode or merge, and the end of the last one.
void write_encoder(const CpuEncoder& plan, Writer& out);

}  // namespace casync::compll
