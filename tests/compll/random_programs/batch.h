// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compll/ops/generated.h"

namespace casync::compll::test {

/// A way to compile generated C++: an instruction set, and how hard the compiler tries.
struct CompilerSettings {
  std::string instruction_set;  ///< `native`, `avx2`, `sse4` or `plain`
  bool optimized = false;       ///< by the flags that codec files are compiled with, else by -O0
  bool kept = false;            ///< in the cache of compiled codecs, where the next run finds it
};

/// Compiles texts of compll::cpu_text, of codecs with different names, as one translation unit into a shared object,
/// and loads it. Its files are in `folder`, but for an object that is kept. The object stays loaded. The names of the
/// codecs are those of the texts. CompileError: the compiler's message. Unavailable: no compiler, no headers, or no
/// cache for what is kept.
Result<std::vector<const GeneratedCodec*>> compile_batch(const std::vector<std::string>& names,
                                                         const std::vector<std::string>& texts,
                                                         const CompilerSettings& settings, const std::string& folder);

}  // namespace casync::compll::test
