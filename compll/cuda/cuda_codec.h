// SPDX-License-Identifier: Apache-2.0
//
// Codecs whose functions run on a GPU, over the host's memory: what a function is given is sent there, its kernels are
// launched, and what they made is fetched. That costs copies, so this is how kernels are tried, not how they are used.
#pragma once

#include <memory>

#include "base/status.h"
#include "compll/codec/codec.h"
#include "compll/codec/rounds_codec.h"
#include "compll/codegen/cuda_codec.h"
#include "compll/cuda/codec_kernels.h"
#include "compll/cuda/cuda_device.h"

namespace casync::compll {

/// What a codec on a GPU has besides. Its functions cannot fail: after an error payloads and elements are zeros.
class OnDevice {
 public:
  virtual ~OnDevice() = default;
  /// Whether a kernel ever wrote where it may not, or left changed what has to be as it was.
  virtual bool wrote_outside() const = 0;
};

class CudaCodec : public Codec, public OnDevice {
 public:
  virtual const CodecKernels& kernels() const = 0;
};

class CudaRoundsCodec : public RoundsCodec, public OnDevice {
 public:
  virtual const TurnKernels& kernels() const = 0;
};

/// From modules with the kernels of this text. Borrows the device and `meaning`, the same codec on the CPU: it says
/// how large payloads are, and checks them. For any threads, which take turns. Unavailable: the modules lack a kernel.
/// InvalidArgument: the text is of the other kind.
Result<std::unique_ptr<CudaCodec>> make_cuda_codec(CudaDevice& device, const CudaModules& modules,
                                                   const CudaCodecText& text, const Codec& meaning);
Result<std::unique_ptr<CudaRoundsCodec>> make_cuda_rounds(CudaDevice& device, const CudaModules& modules,
                                                          const CudaCodecText& text, const RoundsCodec& meaning);

}  // namespace casync::compll
