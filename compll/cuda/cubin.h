// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace casync::compll {

/// A device's machine code, and its compiler.
struct Cubin {
  std::vector<std::string> code;  ///< one for each kernel
  bool built = false;             ///< the compiler built some of it; false: all of it was in the cache
  std::string compiler;           ///< `NVRTC 13.0`
};

/// Machine code of these kernels of a text (codegen/cuda_codec.h) for one architecture, `sm_90`: compiled, all at the
/// same time, or read from the cache of compiled codecs. Compiles each time if the cache is not usable. Unavailable: no
/// NVRTC, no headers. Errors of a kernel are those of KernelCompiler::compiled, with the path of the text.
Result<Cubin> cubin_of(const std::string& text, std::span<const std::string> kernels, const std::string& architecture);

}  // namespace casync::compll
