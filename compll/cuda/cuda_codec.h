// SPDX-License-Identifier: Apache-2.0
//
// Codecs whose functions run on a GPU, on vectors in the host's memory: each call sends its arguments to the device,
// launches kernels and fetches their results. As the copies cost time, this is for tests of kernels, not for training.
#pragma once

#include <memory>

#include "base/status.h"
#include "compll/codec/codec.h"
#include "compll/codec/rounds_codec.h"
#include "compll/codegen/cuda/codec_text.h"
#include "compll/cuda/codec_kernels.h"
#include "compll/cuda/cuda_device.h"
#include "compll/cuda/cuda_modules.h"

namespace casync::compll {

/// The GPU part of a codec. Its functions cannot fail: after an error payloads and elements are zeros.
class OnDevice {
 public:
  virtual ~OnDevice() = default;
  /// Returns true if a kernel ever wrote outside its memory, or did not restore memory that it has to restore.
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

/// Makes a codec of modules with the kernels of this text. Borrows the device and `meaning`, the same codec on the CPU,
/// which knows the sizes of payloads and checks them. Any threads may call it; they take turns. Unavailable: the
/// modules lack a kernel. InvalidArgument: the text is of the other kind of codec.
Result<std::unique_ptr<CudaCodec>> make_cuda_codec(CudaDevice& device, const CudaModules& modules,
                                                   const CudaCodecText& text, const Codec& meaning);
Result<std::unique_ptr<CudaRoundsCodec>> make_cuda_rounds(CudaDevice& device, const CudaModules& modules,
                                                          const CudaCodecText& text, const RoundsCodec& meaning);

}  // namespace casync::compll
