// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"

namespace casync::compll {

/// A device's machine code, and what made it.
struct Cubin {
  std::string code;
  bool built = false;    ///< by the compiler; else it was in the cache
  std::string compiler;  ///< `NVRTC 13.0`
};

/// The kernels' text (codegen/cuda_codec.h) as machine code of one architecture, `sm_90`: compiled, or found in the
/// cache of compiled codecs. Where the cache cannot be used it is compiled each time. Unavailable: no NVRTC, no
/// headers. CompileError: NVRTC refuses it; its first lines, and where the text is.
Result<Cubin> cubin_of(const std::string& text, const std::string& architecture);

}  // namespace casync::compll
