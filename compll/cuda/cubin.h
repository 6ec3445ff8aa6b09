// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace casync::compll {

/// A device's machine code, and what made it.
struct Cubin {
  std::vector<std::string> code;  ///< of each kernel
  bool built = false;             ///< some by the compiler; else all were in the cache
  std::string compiler;           ///< `NVRTC 13.0`
};

/// These kernels of a text (codegen/cuda_codec.h) as machine code of one architecture, `sm_90`: compiled, all at the
/// same time, or found in the cache of compiled codecs. Where the cache cannot be used they are compiled each time.
/// Unavailable: no NVRTC, no headers. CompileError: NVRTC refuses one; its first lines, and where the text is.
Result<Cubin> cubin_of(const std::string& text, std::span<const std::string> kernels, const std::string& architecture);

}  // namespace casync::compll
