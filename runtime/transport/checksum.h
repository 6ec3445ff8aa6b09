// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/view.h"

namespace casync::runtime {

/// XXH3-64 of the bytes, seed 0, with the widest vectors this CPU has. The same number on every machine.
std::uint64_t checksum(ConstView bytes);

}  // namespace casync::runtime
