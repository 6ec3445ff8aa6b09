// SPDX-License-Identifier: Apache-2.0
#include "compll/ops/cpu/bit_function.h"

#include <algorithm>

#include "base/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compll/ops/cpu/bit_function.cc"
#include <hwy/foreach_target.h>

#include "compll/ops/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

inline constexpr size_t kVectorBytes = kLanes * sizeof(uint32_t), kVectorBits = 8 * kVectorBytes;
// Combinations are collected until all have been seen; a check takes as long as a few vectors.
inline constexpr size_t kAskedBytes = 64 * kVectorBytes;

template <size_t kArguments>
inline constexpr size_t kCombinations = size_t{1} << kArguments;

/// Computes the function from its values for each combination: the last argument selects one of two halves.
template <size_t kArguments>
HWY_INLINE VecU value_of(const VecU* values, const VecU* arguments) {
  if constexpr (kArguments == 0) {
    return values[0];
  } else {
    constexpr size_t kHalf = kCombinations<kArguments - 1>;
    const VecU last = arguments[kArguments - 1];
    const VecU yes = value_of<kArguments - 1>(values + kHalf, arguments);
    const VecU no = value_of<kArguments - 1>(values, arguments);
    // Bit by bit: Highway's own choices take whole bytes on some machines.
    return hn::OrAnd(hn::AndNot(last, no), last, yes);
  }
}

/// Finds the bits at which each combination occurs.
template <size_t kArguments>
HWY_INLINE void find_combinations(const VecU* arguments, VecU* found) {
  if constexpr (kArguments == 0) {
    found[0] = hn::Set(U32(), ~uint32_t{0});
  } else {
    constexpr size_t kHalf = kCombinations<kArguments - 1>;
    const VecU last = arguments[kArguments - 1];
    find_combinations<kArguments - 1>(arguments, found);
    for (size_t c = 0; c < kHalf; ++c) {
      found[kHalf + c] = hn::And(last, found[c]);
      found[c] = hn::AndNot(last, found[c]);
    }
  }
}

/// The combinations that vectors have, collected until `seen` has all of them.
template <size_t kArguments>
class Seen {
 public:
  HWY_INLINE Seen() {
    for (VecU& each : seen_) each = hn::Zero(U32());
  }
  /// Two lists of half the arguments are shorter than one of all.
  HWY_INLINE void take(const VecU* arguments) {
    VecU low[kCombinations<kLow>], high[kCombinations<kHigh>];
    find_combinations<kLow>(arguments, low);
    find_combinations<kHigh>(arguments + kLow, high);
    for (size_t h = 0; h < kCombinations<kHigh>; ++h) {
      for (size_t l = 0; l < kCombinations<kLow>; ++l) {
        VecU& seen = seen_[h << kLow | l];
        seen = hn::OrAnd(seen, high[h], low[l]);
      }
    }
  }
  HWY_INLINE uint64_t result() const {
    uint64_t all = 0;
    for (size_t c = 0; c < kCombinations<kArguments>; ++c) {
      const bool is_seen = !hn::AllTrue(U32(), hn::Eq(seen_[c], hn::Zero(U32())));
      all |= uint64_t{is_seen} << c;
    }
    return all;
  }

 private:
  static constexpr size_t kLow = kArguments / 2, kHigh = kArguments - kLow;
  VecU seen_[kCombinations<kArguments>];
};

/// Collects nothing.
struct SeenBefore {
  HWY_INLINE void take(const VecU*) {}
  HWY_INLINE uint64_t result() const { return 0; }
};

/// Applies the function to whole vectors.
template <size_t kArguments, class Combinations>
HWY_NOINLINE uint64_t apply_to_vectors(const VecU* function, const std::byte* const* arguments, size_t begin,
                                       size_t end, std::byte* out) {
  VecU values[kCombinations<kArguments>];
  for (size_t c = 0; c < kCombinations<kArguments>; ++c) values[c] = function[c];
  const std::byte* from[kArguments];
  for (size_t a = 0; a < kArguments; ++a) from[a] = arguments[a];
  Combinations combinations;
  for (size_t i = begin; i < end; i += kVectorBytes) {
    VecU bits[kArguments];
    for (size_t a = 0; a < kArguments; ++a) {
      if (i % 64 == 0) fetch_ahead(from[a] + i);
      bits[a] = load_codes(U32(), from[a] + i);
    }
    combinations.take(bits);
    store_codes(value_of<kArguments>(values, bits), U32(), out + i);
  }
  return combinations.result();
}

/// Applies the function to the bits from a vector's begin on, fewer than it has. The bits after them are set to copies
/// of the first element, which add no combination.
template <size_t kArguments>
HWY_NOINLINE uint64_t apply_to_rest(const VecU* function, const std::byte* const* arguments, size_t begin, size_t count,
                                    std::byte* out) {
  const size_t bytes = (count + 7) / 8;
  const std::byte unused = count % 8 == 0 ? std::byte{0} : std::byte{0xff} << count % 8;
  HWY_ALIGN std::byte rest[kVectorBytes];
  VecU bits[kArguments];
  for (size_t a = 0; a < kArguments; ++a) {
    const bool first = std::to_integer<unsigned>(arguments[a][0]) % 2 != 0;
    const std::byte copies = first ? std::byte{0xff} : std::byte{0};
    std::memcpy(rest, arguments[a] + begin, bytes);
    std::fill(rest + bytes, rest + kVectorBytes, copies);
    rest[bytes - 1] = (rest[bytes - 1] & ~unused) | (copies & unused);
    bits[a] = load_codes(U32(), rest);
  }
  Seen<kArguments> seen;
  seen.take(bits);
  store_codes(value_of<kArguments>(function, bits), U32(), rest);
  rest[bytes - 1] &= ~unused;
  std::memcpy(out + begin, rest, bytes);
  return seen.result();
}

template <size_t kArguments>
uint64_t apply_to_all(uint64_t function, const std::byte* const* arguments, size_t count, std::byte* out) {
  VecU values[kCombinations<kArguments>];
  uint64_t all = 0, seen = 0;
  for (size_t c = 0; c < kCombinations<kArguments>; ++c) {
    values[c] = hn::Set(U32(), (function >> c & 1) != 0 ? ~uint32_t{0} : 0);
    all |= uint64_t{1} << c;
  }
  const size_t whole = count / kVectorBits * kVectorBytes;
  for (size_t begin = 0; begin < whole;) {
    const size_t end = seen == all ? whole : std::min(begin + kAskedBytes, whole);
    seen |= seen == all ? apply_to_vectors<kArguments, SeenBefore>(values, arguments, begin, end, out)
                        : apply_to_vectors<kArguments, Seen<kArguments>>(values, arguments, begin, end, out);
    begin = end;
  }
  const size_t rest = count % kVectorBits;
  return rest == 0 ? seen : seen | apply_to_rest<kArguments>(values, arguments, whole, rest, out);
}

uint64_t apply_function(uint64_t values, const std::byte* const* arguments, size_t size, size_t count, std::byte* out) {
  switch (size) {
    case 1: return apply_to_all<1>(values, arguments, count, out);
    case 2: return apply_to_all<2>(values, arguments, count, out);
    case 3: return apply_to_all<3>(values, arguments, count, out);
    case 4: return apply_to_all<4>(values, arguments, count, out);
    case 5: return apply_to_all<5>(values, arguments, count, out);
    default: return apply_to_all<6>(values, arguments, count, out);
  }
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace casync::compll {
HWY_EXPORT(apply_function);

std::uint64_t apply_bit_function(std::uint64_t values, std::span<const std::byte* const> arguments, Elements count,
                                 std::byte* out) {
  CASYNC_CHECK(!arguments.empty() && arguments.size() <= kMostBitArguments);
  return HWY_DYNAMIC_DISPATCH(apply_function)(values, arguments.data(), arguments.size(), count, out);
}

}  // namespace casync::compll
#endif  // HWY_ONCE
