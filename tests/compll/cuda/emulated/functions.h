// SPDX-License-Identifier: Apache-2.0
//
// The kernels that a program was linked with, by their names.
#pragma once

#include <array>
#include <map>
#include <string>

#include "compll/ops/cuda/coding_launch.h"
#include "compll/ops/cuda/launch.h"

namespace casync::compll::emulated {

/// The most devices that the emulated driver shows.
inline constexpr int kMostDevices = 8;

/// A kernel, the one that tells sizes, or one that codes.
struct Function {
  cuda::Kernel kernel = nullptr;
  cuda::SizesKernel sizes = nullptr;
  cuda::CodingKernel coding = nullptr;
  int device = 0;  ///< that has loaded it
};
using Functions = std::map<std::string, Function>;

/// Returns the functions of a module on each device.
std::array<Functions, kMostDevices> functions_by_device();

}  // namespace casync::compll::emulated
