// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "compll/codec/codec.h"
#include "compll/codec/rounds_codec.h"
#include "compll/lang/program.h"
#include "compll/lang/source.h"
#include "tools/casync/codec/check/report.h"

namespace casync::tools {

/// A program on the first GPU of this machine: compiled, compared with its meaning as on the CPU, and measured for so
/// many seconds each. Unavailable: there is no driver, device, NVRTC or header. Unimplemented: no kernels can be
/// written of it. CompileError: NVRTC refuses the kernels.
Result<Part> check_on_cuda(const compll::Program& program, const compll::Source& source, const compll::Codec& meaning,
                           double seconds);
Result<Part> check_on_cuda(const compll::Program& program, const compll::Source& source,
                           const compll::RoundsCodec& meaning, double seconds);

}  // namespace casync::tools
