// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace casync::runtime {

// The same function, each compiled with the instructions in its name: see CMakeLists.txt.
std::uint64_t xxh3_baseline(const void* data, std::size_t size);
std::uint64_t xxh3_avx2(const void* data, std::size_t size);
std::uint64_t xxh3_avx512(const void* data, std::size_t size);

}  // namespace casync::runtime
