// SPDX-License-Identifier: Apache-2.0
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/transport/checksum_kernels.h"

namespace casync::runtime {

std::uint64_t xxh3_avx2(const void* data, std::size_t size) { return XXH3_64bits(data, size); }

}  // namespace casync::runtime
