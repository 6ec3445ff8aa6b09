// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "compll/codegen/writer.h"
#include "compll/ir/lower.h"
#include "compll/lang/diagnostic.h"

namespace casync::compll {

/// What of encode the text around it has to know.
struct EncoderShape {
  std::size_t passes = 1;
  bool keeps_input = false;  ///< needs scratch for a tile
};

/// struct Tensor, a function for each pass of encode, and what comes behind the last one. Throws CannotWrite.
EncoderShape write_encoder(const Program& program, const Lowered& lowered, Writer& out, Diagnostics& diagnostics);

}  // namespace casync::compll
