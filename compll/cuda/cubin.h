// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compll/codegen/cuda/codec_text.h"

namespace casync::compll {

/// A codec's code for a device, and its compiler.
struct Cubin {
  std::vector<std::string> code;  ///< modules, which have all kernels: machine code, or PTX that the driver compiles
  bool built = false;             ///< NVRTC built some of it now; false: all of it was there
  std::string compiler;           ///< `NVRTC 13.0`
};

/// Code of a codec's kernels for a device of one architecture, such as `sm_90`: machine code that the library was
/// shipped with; else code from the cache of compiled codecs, or compiled by NVRTC, all kernels at the same time; else,
/// without an NVRTC for this architecture, PTX that the library was shipped with. Of several processes or threads that
/// want the same kernel one compiles it and the others wait. Compiles each time if the cache is not usable.
/// Unavailable: none of these; no headers. Errors of a kernel are those of KernelCompiler::compiled, with the path of
/// the text.
Result<Cubin> cubin_of(const CudaCodecText& codec, const std::string& architecture);

}  // namespace casync::compll
