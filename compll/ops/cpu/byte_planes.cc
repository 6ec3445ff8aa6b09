// SPDX-License-Identifier: Apache-2.0
#include "compll/ops/cpu/byte_planes.h"

#include <algorithm>
#include <bit>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compll/ops/cpu/byte_planes.cc"
#include <hwy/foreach_target.h>

#include "compll/ops/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR  // there a vector of bytes is shorter than one of words
using U8 = hn::ScalableTag<uint8_t>;
/// As many bytes as there are words in a vector.
using FewBytes = hn::Rebind<uint8_t, U32>;
#endif

constexpr uint32_t kMantissa = 0x7fffff;

HWY_INLINE uint32_t exponent_first(uint32_t x) { return x << 1 >> 24 << 24 | x >> 31 << 23 | (x & kMantissa); }
HWY_INLINE uint32_t sign_first(uint32_t x) { return (x >> 23 & 1) << 31 | x >> 24 << 23 | (x & kMantissa); }

#if HWY_TARGET != HWY_SCALAR
HWY_INLINE VecU exponent_first(VecU x) {
  const VecU low = hn::And(x, hn::Set(U32(), kMantissa));
  const VecU exponent = hn::ShiftLeft<24>(hn::ShiftRight<24>(hn::ShiftLeft<1>(x)));
  return hn::Or(hn::Or(exponent, hn::ShiftLeft<23>(hn::ShiftRight<31>(x))), low);
}
HWY_INLINE VecU sign_first(VecU x) {
  const VecU low = hn::And(x, hn::Set(U32(), kMantissa));
  const VecU sign = hn::ShiftLeft<31>(hn::ShiftRight<23>(x));
  return hn::Or(hn::Or(sign, hn::ShiftLeft<23>(hn::ShiftRight<24>(x))), low);
}
#endif

template <bool kFloats>
HWY_INLINE void split(const std::byte* words, size_t count, uint8_t* planes, size_t stride) {
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const auto store = [&](VecU bytes, uint8_t* to) HWY_ATTR {
    const VecU byte = hn::And(bytes, hn::Set(U32(), 0xff));
    hn::StoreU(hn::DemoteTo(FewBytes(), hn::BitCast(I32(), byte)), FewBytes(), to);
  };
  for (; i + kLanes <= count; i += kLanes) {
    VecU x = hn::BitCast(U32(), hn::LoadU(U8(), reinterpret_cast<const uint8_t*>(words) + 4 * i));
    if constexpr (kFloats) x = exponent_first(x);
    store(x, planes + i);
    store(hn::ShiftRight<8>(x), planes + stride + i);
    store(hn::ShiftRight<16>(x), planes + 2 * stride + i);
    store(hn::ShiftRight<24>(x), planes + 3 * stride + i);
  }
#endif
  for (; i < count; ++i) {
    uint32_t x;
    std::memcpy(&x, words + 4 * i, sizeof x);
    if constexpr (kFloats) x = exponent_first(x);
    for (size_t p = 0; p < 4; ++p) planes[p * stride + i] = static_cast<uint8_t>(x >> (8 * p));
  }
}

void split_planes(const std::byte* words, size_t count, bool floats, uint8_t* planes, size_t stride) {
  floats ? split<true>(words, count, planes, stride) : split<false>(words, count, planes, stride);
}

template <bool kFloats>
HWY_INLINE void join(const uint8_t* planes, size_t stride, size_t count, std::byte* words) {
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const auto load = [&](const uint8_t* from) HWY_ATTR { return hn::PromoteTo(U32(), hn::LoadU(FewBytes(), from)); };
  for (; i + kLanes <= count; i += kLanes) {
    const VecU low = hn::Or(load(planes + i), hn::ShiftLeft<8>(load(planes + stride + i)));
    const VecU high =
        hn::Or(hn::ShiftLeft<16>(load(planes + 2 * stride + i)), hn::ShiftLeft<24>(load(planes + 3 * stride + i)));
    VecU x = hn::Or(low, high);
    if constexpr (kFloats) x = sign_first(x);
    hn::StoreU(hn::BitCast(U8(), x), U8(), reinterpret_cast<uint8_t*>(words) + 4 * i);
  }
#endif
  for (; i < count; ++i) {
    uint32_t x = 0;
    for (size_t p = 0; p < 4; ++p) x |= uint32_t{planes[p * stride + i]} << (8 * p);
    if constexpr (kFloats) x = sign_first(x);
    std::memcpy(words + 4 * i, &x, sizeof x);
  }
}

void join_planes(const uint8_t* planes, size_t stride, size_t count, bool floats, std::byte* words) {
  floats ? join<true>(planes, stride, count, words) : join<false>(planes, stride, count, words);
}

size_t two_bits(const uint8_t* bytes, size_t count, const uint8_t* values, size_t known, std::byte* codes,
                uint8_t* others) {
  size_t found = 0, i = 0;
#if HWY_TARGET != HWY_SCALAR
  const U8 d;
  const hn::Repartition<uint16_t, U8> d16;
  constexpr size_t kBytes = 4 * kLanes;
  const auto none = hn::Set(d, 3);
  for (; i + kBytes <= count; i += kBytes) {
    const auto x = hn::LoadU(d, bytes + i);
    auto code = none;
    for (size_t k = 0; k < known; ++k) {
      code = hn::IfThenElse(hn::Eq(x, hn::Set(d, values[k])), hn::Set(d, static_cast<uint8_t>(k)), code);
    }
    // Two codes in each sixteen bits, then four in each word.
    const auto twos = hn::BitCast(d16, code);
    const auto pairs = hn::And(hn::Or(twos, hn::ShiftRight<6>(twos)), hn::Set(d16, 0x0f));
    const VecU words = hn::BitCast(U32(), pairs);
    const VecU fours = hn::And(hn::Or(words, hn::ShiftRight<12>(words)), hn::Set(U32(), 0xff));
    hn::StoreU(hn::DemoteTo(FewBytes(), hn::BitCast(I32(), fours)), FewBytes(),
               reinterpret_cast<uint8_t*>(codes) + i / 4);
    HWY_ALIGN uint8_t bits[std::max<size_t>(kBytes / 8, 8)] = {};
    hn::StoreMaskBits(d, hn::Eq(code, none), bits);
    uint64_t left;
    std::memcpy(&left, bits, sizeof left);
    for (; left != 0; left &= left - 1) others[found++] = bytes[i + static_cast<size_t>(std::countr_zero(left))];
  }
#endif
  for (; i < count; i += 4) {
    unsigned four = 0;
    for (size_t k = 0; k < std::min<size_t>(4, count - i); ++k) {
      const auto code = static_cast<size_t>(std::find(values, values + known, bytes[i + k]) - values);
      if (code == known) others[found++] = bytes[i + k];
      four |= static_cast<unsigned>(code == known ? 3 : code) << (2 * k);
    }
    codes[i / 4] = static_cast<std::byte>(four);
  }
  return found;
}

size_t counted(const std::byte* codes, size_t count, unsigned width) {
  const size_t at_once = width == 1 ? 64 : width == 2 ? 32 : 16;
  size_t found = 0;
  for (size_t i = 0; i < count; i += at_once) {
    uint64_t word = 0;
    std::memcpy(&word, codes + i * width / 8, (std::min(at_once, count - i) * width + 7) / 8);
    found += static_cast<size_t>(std::popcount(all_ones(word, width)));
  }
  return found;
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace casync::compll {
HWY_EXPORT(split_planes);
HWY_EXPORT(join_planes);
HWY_EXPORT(two_bits);
HWY_EXPORT(counted);

void split_bytes(const std::byte* words, std::size_t count, bool floats, std::uint8_t* planes, std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(split_planes)(words, count, floats, planes, stride);
}

void join_bytes(const std::uint8_t* planes, std::size_t stride, std::size_t count, bool floats, std::byte* words) {
  HWY_DYNAMIC_DISPATCH(join_planes)(planes, stride, count, floats, words);
}

std::size_t write_two_bits(const std::uint8_t* bytes, std::size_t count, std::span<const std::uint8_t> values,
                           std::byte* codes, std::uint8_t* others) {
  return HWY_DYNAMIC_DISPATCH(two_bits)(bytes, count, values.data(), values.size(), codes, others);
}

std::size_t count_all_ones(const std::byte* codes, std::size_t count, unsigned width) {
  return HWY_DYNAMIC_DISPATCH(counted)(codes, count, width);
}

}  // namespace casync::compll
#endif  // HWY_ONCE
