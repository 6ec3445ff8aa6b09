// SPDX-License-Identifier: Apache-2.0
//
// The memory that the arguments of a kernel lead to. Kernels of this host could read any; those of a device fault
// outside of the driver's.
#pragma once

#include "compll/ops/cuda/coding_launch.h"
#include "compll/ops/cuda/launch.h"

namespace casync::compll::emulated {

/// Returns the name of the first member that leads to memory which is neither the device's nor pinned, or beyond it;
/// null: there is none. Where a size depends on the codec, the member's begin stands for all.
const char* stray_member(const cuda::Launch& launch, int device);
const char* stray_member(const cuda::CodingLaunch& launch, int device);

}  // namespace casync::compll::emulated
