// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "compll/codegen/cuda/codec_text.h"
#include "compll/cuda/cuda_device.h"
#include "compll/cuda/cuda_modules.h"
#include "runtime/device/codec_kernels.h"
#include "runtime/device/cuda/cuda_calls.h"

namespace casync::runtime {

/// Kernels of a text that was compiled to these modules. Borrows the device, the calls and `meaning`. Unavailable: the
/// modules lack a kernel. Unimplemented: a codec that exchanges within a step.
Result<std::unique_ptr<CodecKernels>> make_cuda_kernels(compll::CudaDevice& device, const CudaCalls& calls,
                                                        const compll::CudaModules& modules,
                                                        const compll::CudaCodecText& text,
                                                        const compll::Codec& meaning);

/// The same of a codec that exchanges within a step, and Unimplemented of all others.
Result<std::unique_ptr<TurnKernels>> make_cuda_turns(compll::CudaDevice& device, const CudaCalls& calls,
                                                     const compll::CudaModules& modules,
                                                     const compll::CudaCodecText& text,
                                                     const compll::RoundsCodec& meaning);

}  // namespace casync::runtime
