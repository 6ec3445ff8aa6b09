// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"
#include "compll/ops/generated.h"

namespace casync::compll {

/// The C++ text of a codec: `function` hands over what it defines.
struct CodecText {
  std::string text;
  std::string function;
};

/// A codec in this process, and whether a compiler had to make it.
struct CompiledCodec {
  const GeneratedCodec* codec = nullptr;
  bool built = false;
};

/// Compiles the text, or finds it compiled: in this process, then in the cache. Where the cache cannot be used it is
/// compiled for this process alone, and a warning says why, once. The result lives as long as the process.
/// Unavailable: no compiler, no headers, no folder that this user has alone. CompileError: the compiler refused; its
/// first lines, and where the text is. Timeout: it took over CASYNC_COMPILE_SEC. InvalidArgument: a variable that is no
/// number.
Result<CompiledCodec> compiled(const CodecText& codec);

}  // namespace casync::compll
