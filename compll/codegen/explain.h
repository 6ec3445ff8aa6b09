// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"
#include "compll/lang/program.h"
#include "compll/lang/source.h"

namespace casync::compll {

/// The least bytes for each element that functions of an algorithm can move.
struct LeastBytes {
  double encode = 0, decode = 0;
  double merge = 0;  ///< merges `kExplainedMerge` payloads
};
inline constexpr int kExplainedMerge = 4;

/// The least bytes with the parameters' initial values and many elements, for a program without exchanges.
LeastBytes least_bytes(const Program& program, const Source& source);

/// The passes over memory that each function of the codec takes on the CPU and the bytes it moves for each element,
/// with the parameters' initial values and many elements, compared with the least that its algorithm needs; and the
/// reasons for the difference. Unimplemented: as cpu_text.
Result<std::string> explanation(const Program& program, const Source& source);

}  // namespace casync::compll
