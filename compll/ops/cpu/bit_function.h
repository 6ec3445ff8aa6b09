// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/units.h"

namespace casync::compll {

/// The most arguments of a function of bits.
inline constexpr std::size_t kMostBitArguments = 6;

/// The arguments' bits in all 64 combinations: those of fewer arguments repeat. Combination c has bit a of c for
/// argument a.
inline constexpr std::uint64_t kBitCombinations[kMostBitArguments] = {0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc,
                                                                      0xf0f0f0f0f0f0f0f0, 0xff00ff00ff00ff00,
                                                                      0xffff0000ffff0000, 0xffffffff00000000};

/// Bit i of `out` = bit c of `values`, where c is the combination of the arguments' bits i, for `count` bits; sets the
/// bits after the last one in its byte to zero. Needs at least one argument, at any address; `out` overlaps none.
/// Returns the combinations that occur, as bits: for a arguments the lowest 2^a.
std::uint64_t apply_bit_function(std::uint64_t values, std::span<const std::byte* const> arguments, Elements count,
                                 std::byte* out);

}  // namespace casync::compll
