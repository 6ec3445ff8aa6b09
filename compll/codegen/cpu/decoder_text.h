// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/codegen/text/writer.h"
#include "compll/ir/tiles/cpu/plan.h"

namespace casync::compll {

/// Writes struct Decoder: from the sections of one payload to sixteen elements.
void write_decoder(const CpuTiles& plan, Writer& out);

}  // namespace casync::compll
