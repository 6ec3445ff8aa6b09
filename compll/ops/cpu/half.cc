// SPDX-License-Identifier: Apache-2.0
#include "compll/ops/cpu/half.h"

#include <algorithm>

#include "base/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compll/ops/cpu/half.cc"
#include <hwy/foreach_target.h>

#include "compll/ops/cpu/decode-inl.h"
#include "compll/ops/cpu/half-inl.h"
#include "compll/ops/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

// The codecs' 16 bits in the low half of each lane. Integer arithmetic rather than the machine's own conversion, which
// differs between instruction sets in NaN and in rounding.
struct BFloat16 {
  static constexpr uint32_t kInfinity = 0x7f80;

  static HWY_INLINE VecI encode(VecF v) {
    const VecI bits = hn::BitCast(I32(), v);
    const VecI high = hn::ShiftRight<16>(bits);
    const VecI even = hn::Add(constant(0x7fff), hn::And(high, constant(1)));
    const VecI rounded = hn::ShiftRight<16>(hn::Add(bits, even));
    const auto is_nan = hn::Gt(magnitude_bits(v), constant(0x7f800000));
    return hn::And(hn::IfThenElse(is_nan, hn::Or(high, constant(0x40)), rounded), constant(0xffff));
  }
  static HWY_INLINE VecF decode(VecI code) { return as_float(hn::ShiftLeft<16>(code)); }
};

template <class Half, bool kPlain, bool kResidual, bool kFeedback, Write kWrite>
HWY_INLINE uint32_t encode_loop(const Scaled& source, size_t count, std::byte* codes, float* residual_out) {
  const Loader<kPlain, kResidual> load(source);
  VecI top = hn::Zero(I32());
  for (size_t i = 0; i < count; i += kLanes) {
    const VecF p = load(i);
    const VecI code = Half::encode(p);
    top = hn::Max(top, hn::And(code, constant(0x7fff)));
    store_codes(hn::DemoteTo(U16(), code), U16(), codes + i * sizeof(uint16_t));
    if constexpr (kFeedback) write<kWrite>(hn::Sub(p, Half::decode(code)), residual_out + i);
  }
  return max_of_lanes(top);
}

template <class Half, bool kPlain, bool kResidual>
HWY_INLINE uint32_t encode_vectors(const Scaled& source, size_t count, std::byte* codes, float* out, Write mode) {
  if (out == nullptr) return encode_loop<Half, kPlain, kResidual, false, Write::kPlain>(source, count, codes, out);
  if (mode == Write::kStream) {
    return encode_loop<Half, kPlain, kResidual, true, Write::kStream>(source, count, codes, out);
  }
  return encode_loop<Half, kPlain, kResidual, true, Write::kPlain>(source, count, codes, out);
}

template <class Half>
uint32_t encode_any(const Scaled& source, size_t count, std::byte* codes, float* out, Write mode) {
  if (source.residual != nullptr) return encode_vectors<Half, false, true>(source, count, codes, out, mode);
  if (source.is_plain()) return encode_vectors<Half, true, false>(source, count, codes, out, mode);
  return encode_vectors<Half, false, false>(source, count, codes, out, mode);
}

// Whole vectors in place, the rest in a vector of its own that is padded with zeros.
template <class Half>
bool encode_all(const Scaled& source, size_t count, std::byte* codes, float* out, Write mode) {
  const size_t whole = count / kLanes * kLanes, rest = count - whole;
  uint32_t top = encode_any<Half>(source, whole, codes, out, mode);
  if (rest != 0) {
    float values[kLanes] = {}, residual[kLanes] = {};
    std::byte tail[kLanes * sizeof(uint16_t)];
    std::memcpy(values, source.values + whole, rest * sizeof(float));
    if (source.residual != nullptr) std::memcpy(residual, source.residual + whole, rest * sizeof(float));
    const Scaled padded{values, source.scale, source.residual == nullptr ? nullptr : residual};
    top = std::max(top, encode_any<Half>(padded, kLanes, tail, out == nullptr ? nullptr : values, Write::kPlain));
    std::memcpy(codes + whole * sizeof(uint16_t), tail, rest * sizeof(uint16_t));
    if (out != nullptr) std::memcpy(out + whole, values, rest * sizeof(float));
  }
  return top < Half::kInfinity;
}

template <class Half>
struct HalfTerm {
  const std::byte* codes;

  HWY_INLINE void enter(size_t) {}
  HWY_INLINE VecF at(size_t i) const { return decode(codes + i * sizeof(uint16_t)); }
  HWY_INLINE VecF tail(size_t i, size_t rest) const {
    std::byte padded[kLanes * sizeof(uint16_t)] = {};
    std::memcpy(padded, codes + i * sizeof(uint16_t), rest * sizeof(uint16_t));
    return decode(padded);
  }
  static HWY_INLINE VecF decode(const std::byte* from) {
    return Half::decode(hn::PromoteTo(I32(), load_codes(U16(), from)));
  }
};

template <class Half>
void decode_tiles(const CodeTile* tiles, size_t size, size_t count, float* out, Write mode) {
  for (size_t t = 0; t < size; t += kMostTerms) {
    HalfTerm<Half> terms[kMostTerms];
    const size_t some = std::min(kMostTerms, size - t);
    for (size_t k = 0; k < some; ++k) terms[k] = {tiles[t + k].codes};
    sum_code_terms(terms, some, count, count, out, t == 0 ? mode : Write::kAdd);
  }
}

bool encode_half_simd(DType dtype, const Scaled& source, size_t count, std::byte* codes, float* out, Write mode) {
  return dtype == DType::kFloat16 ? encode_all<Float16>(source, count, codes, out, mode)
                                  : encode_all<BFloat16>(source, count, codes, out, mode);
}

void decode_half_simd(DType dtype, const CodeTile* tiles, size_t size, size_t count, float* out, Write mode) {
  if (dtype == DType::kFloat16) return decode_tiles<Float16>(tiles, size, count, out, mode);
  decode_tiles<BFloat16>(tiles, size, count, out, mode);
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace casync::compll {
HWY_EXPORT(encode_half_simd);
HWY_EXPORT(decode_half_simd);

bool encode_half(DType dtype, const Scaled& source, Elements count, std::byte* codes, float* residual_out, Write mode) {
  CASYNC_CHECK(dtype != DType::kFloat32);
  return HWY_DYNAMIC_DISPATCH(encode_half_simd)(dtype, source, count, codes, residual_out, mode);
}

void decode_half(DType dtype, std::span<const CodeTile> tiles, Elements count, float* out, Write mode) {
  CASYNC_CHECK(dtype != DType::kFloat32 && !tiles.empty());
  HWY_DYNAMIC_DISPATCH(decode_half_simd)(dtype, tiles.data(), tiles.size(), count, out, mode);
}

}  // namespace casync::compll
#endif  // HWY_ONCE
