// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"
#include "compll/codegen/cuda/codec_text.h"

namespace casync::compll {

/// The CUDA text of a codec of the library, with the parameters' defaults where the text depends on them: one of
/// compll/codecs, or `sum`, which stands for `none`, or `greatest` (kGreatestIdentity).
/// Unimplemented: there is none; why, with its place.
Result<CudaCodecText> built_in_text(const std::string& codec);

}  // namespace casync::compll
