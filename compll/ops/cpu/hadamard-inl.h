// SPDX-License-Identifier: Apache-2.0
// The orthonormal Walsh-Hadamard matrix times blocks of elements. Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_HADAMARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_HADAMARD_INL_H_
#undef COMPLL_OPS_CPU_HADAMARD_INL_H_
#else
#define COMPLL_OPS_CPU_HADAMARD_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cmath>

#include "compll/ops/cpu/program-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

/// Sums and differences of elements `half` apart, within groups of twice as many.
HWY_INLINE void butterflies(float* x, size_t size, size_t half) {
  for (size_t first = 0; first < size; first += 2 * half) {
    for (size_t i = first; i < first + half; ++i) {
      const float a = x[i], b = x[i + half];
      x[i] = a + b;
      x[i + half] = a - b;
    }
  }
}
/// Computes the same if both are whole vectors.
HWY_INLINE void vector_butterflies(float* x, size_t size, size_t half) {
  for (size_t first = 0; first < size; first += 2 * half) {
    for (size_t i = first; i < first + half; i += kLanes) {
      const VecF a = hn::LoadU(F32(), x + i), b = hn::LoadU(F32(), x + i + half);
      hn::StoreU(hn::Add(a, b), F32(), x + i);
      hn::StoreU(hn::Sub(a, b), F32(), x + i + half);
    }
  }
}
#if HWY_TARGET != HWY_SCALAR
/// Computes the same within a vector.
template <size_t kHalf>
HWY_INLINE VecF lane_butterflies(VecF x) {
  const VecI lanes = hn::BitCast(I32(), numbers_from(0)), half = hn::Set(I32(), static_cast<int32_t>(kHalf));
  const VecF other = hn::TableLookupLanes(x, hn::IndicesFromVec(F32(), hn::Xor(lanes, half)));
  const auto lower = hn::RebindMask(F32(), hn::Eq(hn::And(lanes, half), hn::Zero(I32())));
  return hn::IfThenElse(lower, hn::Add(x, other), hn::Sub(other, x));
}
HWY_INLINE VecF all_lane_butterflies(VecF x) {
  x = lane_butterflies<1>(x);
  x = lane_butterflies<2>(x);
  if constexpr (kLanes > 4) x = lane_butterflies<4>(x);
  if constexpr (kLanes > 8) x = lane_butterflies<8>(x);
  return x;
}
#endif

HWY_INLINE float orthonormal_scale(size_t size) { return static_cast<float>(1 / std::sqrt(static_cast<double>(size))); }

/// Multiplies `size` elements, a power of two, by the orthonormal Walsh-Hadamard matrix.
HWY_INLINE void transform(float* x, size_t size) {
  const float scale = orthonormal_scale(size);
  if (size < kLanes) {
    for (size_t half = 1; half < size; half *= 2) butterflies(x, size, half);
    for (size_t i = 0; i < size; ++i) x[i] *= scale;
    return;
  }
#if HWY_TARGET != HWY_SCALAR
  for (size_t i = 0; i < size; i += kLanes) {
    hn::StoreU(all_lane_butterflies(hn::LoadU(F32(), x + i)), F32(), x + i);
  }
#endif
  for (size_t half = kLanes; half < size; half *= 2) vector_butterflies(x, size, half);
  const VecF factor = hn::Set(F32(), scale);
  for (size_t i = 0; i < size; i += kLanes) hn::StoreU(hn::Mul(hn::LoadU(F32(), x + i), factor), F32(), x + i);
}

/// Transforms a short block as the powers of two that it consists of, the largest first.
HWY_INLINE void transform_parts(float* x, size_t count) {
  while (count != 0) {
    const size_t size = std::bit_floor(count);
    transform(x, size);
    x += size;
    count -= size;
  }
}

/// Transforms whole blocks of kSize elements, which stay in registers.
template <size_t kSize>
HWY_INLINE void transform_blocks(float* x, size_t count) {
#if HWY_TARGET == HWY_SCALAR
  for (size_t i = 0; i < count; i += kSize) transform(x + i, kSize);
#else
  constexpr size_t kVectors = kSize / kLanes;
  const VecF factor = hn::Set(F32(), orthonormal_scale(kSize));
  for (const float* const end = x + count; x != end; x += kSize) {
    VecF v[kVectors];
    for (size_t k = 0; k < kVectors; ++k) v[k] = all_lane_butterflies(hn::LoadU(F32(), x + k * kLanes));
    for (size_t half = 1; half < kVectors; half *= 2) {
      for (size_t k = 0; k < kVectors; ++k) {
        if ((k & half) != 0) continue;
        const VecF a = v[k], b = v[k + half];
        v[k] = hn::Add(a, b);
        v[k + half] = hn::Sub(a, b);
      }
    }
    for (size_t k = 0; k < kVectors; ++k) hn::StoreU(hn::Mul(v[k], factor), F32(), x + k * kLanes);
  }
#endif
}

/// Transforms each block of `block` elements in place; the last one may be short.
HWY_INLINE void rotate_blocks(float* x, size_t count, size_t block) {
  const size_t whole = count / block * block;
  switch (block) {
    case 16: transform_blocks<16>(x, whole); break;
    case 32: transform_blocks<32>(x, whole); break;
    case 64: transform_blocks<64>(x, whole); break;
    case 128: transform_blocks<128>(x, whole); break;
    default:
      for (size_t i = 0; i < whole; i += block) transform(x + i, block);
  }
  transform_parts(x + whole, count - whole);
}

/// The array of a transform: these arrays follow the memory that holds a tile of `count` elements.
HWY_INLINE float* rotated_array(float* scratch, size_t count, size_t index) {
  return scratch + (index + 1) * ((count + kGroup - 1) / kGroup * kGroup);
}

// Decoding with a transform goes through memory in parts that stay in the first-level cache.

/// Elements of a part: a multiple of every transform's size.
inline constexpr size_t kRotatedTogether = 1024;

/// Calls body(i, count) for each sixteen elements of a part of a tile, in each block after decoder.enter.
template <class Decoder, class Body>
HWY_INLINE void for_entered(Decoder& decoder, const GeneratedTile& tile, size_t first, size_t last, const Body& body) {
  const size_t block = Decoder::block(tile);
  for (size_t b = first; b < last;) {
    const size_t entry = b / block, end = std::min((entry + 1) * block, last);
    decoder.enter(tile, entry);
    for_groups(b, end, body);
    b = end;
  }
}

template <Write kWrite, class Decoder>
HWY_INLINE void decode_part(Decoder& decoder, const GeneratedTile& tile, size_t first, size_t last, float* out) {
  decoder.decode(tile, first, last, [&](const Float& values, size_t i, auto rest) COMPLL_INLINE {
    write_floats<kWrite>(values, out + i, rest);
  });
}

/// decode_sums for decoders that rotate.
template <class Decoder>
void decode_rotated(const GeneratedTile& tile, const std::byte* const* sections, size_t payloads, float* out,
                    Write mode) {
  for (size_t first = 0; first < tile.count; first += kRotatedTogether) {
    const size_t last = std::min(first + kRotatedTogether, static_cast<size_t>(tile.count));
    for (size_t t = 0; t < payloads; ++t) {
      Decoder decoder;
      decoder.begin(tile, sections + t * Decoder::kSections);
      if (t != 0 || mode == Write::kAdd) {
        decode_part<Write::kAdd>(decoder, tile, first, last, out);
      } else if (payloads == 1 && mode == Write::kStream) {
        decode_part<Write::kStream>(decoder, tile, first, last, out);
      } else {
        decode_part<Write::kPlain>(decoder, tile, first, last, out);
      }
    }
  }
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
