// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/units.h"
#include "compll/cuda/cuda_codec.h"
#include "compll/cuda/cuda_device.h"
#include "tools/casync/codec_figures/figures.h"

namespace casync::tools {

/// Elements of a measured vector: far more than caches hold.
inline constexpr Elements kMeasured = Elements{1} << 26;
inline constexpr Elements kMeasuredSide = 4096;

/// A codec's kernels on vectors in the device's memory, by the device's clock, so many seconds for each function.
/// Empty if the device fails, or has no memory for a sixteenth of `n`.
Speeds measure_on_cuda(const compll::CudaCodec& codec, compll::CudaDevice& device, double seconds,
                       Elements n = kMeasured);
/// The same with a matrix of side x side.
Speeds measure_on_cuda(const compll::CudaRoundsCodec& codec, compll::CudaDevice& device, double seconds,
                       Elements side = kMeasuredSide);

}  // namespace casync::tools
