// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compll/load/headers.h"

namespace casync::compll::test {

/// A C++ text with all that its shared object depends on, but for the compiler.
struct ObjectText {
  std::string text;
  std::vector<std::string> flags;
  Headers headers;
};

/// Compiles a text into a shared object and loads it, until the process ends. Its files are in `folder`, unless the
/// object is kept: in the cache of compiled codecs, where the next run finds it. Returns the handle for dlsym.
/// CompileError: the compiler's message. Unavailable: no compiler, or no cache for what is kept.
Result<void*> load_object(const ObjectText& of, bool kept, const std::string& folder);

}  // namespace casync::compll::test
