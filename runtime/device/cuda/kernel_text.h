// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"
#include "compll/codec/codec.h"
#include "compll/codegen/cuda/codec_text.h"

namespace casync::runtime {

/// The CUDA text of a codec by its name: one of the library, an identity of none.h, or a file. `info` has its
/// parameters' values, and tells identities apart.
/// Unimplemented: there is no such text; why, with its place. Others as compll::read_program.
Result<compll::CudaCodecText> kernel_text(const std::string& codec, const compll::CodecInfo& info);

}  // namespace casync::runtime
