// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/transport/transport.h"

namespace casync::runtime {

/// Messages without a payload, told by their hop. Larger hops are no gradient's.
inline constexpr std::uint32_t kNoticeHop =
    ~0u;  ///< a rank waits for a comparison: its number is the gradient, completed steps the step
inline constexpr std::uint32_t kWantHop = ~0u - 1;   ///< bytes (gradient) are ready for a rank (partition)
inline constexpr std::uint32_t kGrantHop = ~0u - 2;  ///< they may be sent
inline constexpr std::uint32_t kEndHop = ~0u - 3;    ///< they have left
inline constexpr std::uint32_t kEndedHop = ~0u - 4;  ///< a rank has ended its steps, and answers the others
/// An answer to a step waits for a rank: the lower half of elements, which has contributed to as many steps as the
/// upper half says.
inline constexpr std::uint32_t kWaitsHop = ~0u - 5;
inline constexpr std::uint32_t kGoesOnHop = ~0u - 6;  ///< to a rank that has ended: this one has begun a step
/// Set in the hop of a message's name: that message has arrived, or waits for its place.
inline constexpr std::uint32_t kArrivedBit = 1u << 31;
inline constexpr std::uint32_t kLeastNoticeHop = kArrivedBit;
inline constexpr std::uint64_t kNoticeCookie = ~std::uint64_t{0};

/// Sends a message without a payload.
inline void send_word(Transport& transport, Rank to, const MessageKey& key, std::uint64_t elements = 0) {
  Message word;
  word.key = key;
  word.elements = elements;
  const Outgoing out{word, {}, kNoticeCookie};
  transport.send(to, {&out, 1});
}

}  // namespace casync::runtime
