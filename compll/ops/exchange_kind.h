// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace casync::compll {

/// The most exchanges within a step.
inline constexpr std::size_t kMostRounds = 8;

/// The result of an exchange, for each element of the arrays that the ranks give to it.
enum class ExchangeKind : std::uint8_t {
  kSum,    ///< the sum, times the reduction's scale; float32 on the wire
  kMax,    ///< the greatest, NaN if one is NaN; float32 on the wire
  kElias,  ///< the sum of whole numbers, exact below 2^24, times the reduction's scale; Elias' code on the wire
};

/// Arguments of GeneratedRounds::sized in addition to those of generated.h. The kind of the first exchange as a number,
/// then of the others; and 1 if the program names rows and columns, else 0.
inline constexpr std::uint32_t kFirstExchangeKind = 2000, kNamesShape = 1002;

}  // namespace casync::compll
