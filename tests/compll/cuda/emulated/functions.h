// SPDX-License-Identifier: Apache-2.0
//
// The kernels of a module, by their names.
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
  int device = 0;              ///< that has loaded it
  int most_shared = 48 << 10;  ///< bytes of shared memory that a launch may have
};
using Functions = std::map<std::string, Function>;

/// Adds the kernels of a codec by the names that its text gives them.
void add(const cuda::Kernels& kernels, Functions& all);
void add(const cuda::VectorFormKernels& kernels, Functions& all);
void add(const cuda::RoundsKernels& kernels, Functions& all);
void add(const cuda::CodingKernels& kernels, Functions& all);

/// Sets the functions of all modules, in place of those that the program was linked with. Called ahead of the first
/// module.
void set_functions(const Functions& functions);

/// Returns the functions of a module on each device.
std::array<Functions, kMostDevices> functions_by_device();

}  // namespace casync::compll::emulated
