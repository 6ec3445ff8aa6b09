// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace casync {

/// A count of bytes and a count of elements; names say which, and the two never share one.
using Bytes = std::size_t;
using Elements = std::size_t;

/// A process of the group, 0 .. ranks - 1.
using Rank = int;

/// Quotient, and multiple of `unit`, rounded up. The divisor is above 0, and a + divisor is a std::size_t.
constexpr std::size_t ceil_div(std::size_t a, std::size_t b) { return (a + b - 1) / b; }
constexpr std::size_t round_up(std::size_t a, std::size_t unit) { return ceil_div(a, unit) * unit; }

constexpr Bytes operator""_KiB(unsigned long long n) { return n << 10; }
constexpr Bytes operator""_MiB(unsigned long long n) { return n << 20; }

}  // namespace casync
