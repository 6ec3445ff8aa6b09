// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/checksum.h"

#include "runtime/transport/checksum_kernels.h"

namespace casync::runtime {
namespace {

using Kernel = std::uint64_t (*)(const void*, std::size_t);

Kernel choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return xxh3_avx512;
  if (__builtin_cpu_supports("avx2")) return xxh3_avx2;
#endif
  return xxh3_baseline;
}

}  // namespace

std::uint64_t checksum(ConstView bytes) {
  static const Kernel kernel = choose();
  return kernel(bytes.data, bytes.size);
}

}  // namespace casync::runtime
