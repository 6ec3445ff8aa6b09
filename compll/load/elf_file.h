// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace casync::compll {

inline constexpr std::uint16_t kCudaMachine = 190;  ///< ELF's number of NVIDIA's GPUs

/// Returns ELF's number of this machine; 0 where the check of it is left out.
std::uint16_t own_machine();

/// Checks that `bytes` are a whole ELF file of 64 bits for `machine` (0: any): its header, and every segment and the
/// table of sections within the bytes. To load a shared object that was cut off would end the process. DataLoss: says
/// what is wrong.
Status check_elf(std::string_view bytes, std::uint16_t machine);

}  // namespace casync::compll
