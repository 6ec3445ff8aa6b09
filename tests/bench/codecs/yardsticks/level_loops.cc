// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/codecs/yardsticks/level_loops.h"

#include <algorithm>

#include "base/check.h"
#include "tests/compll/support/reference/levels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/codecs/yardsticks/level_loops.cc"
#include <hwy/foreach_target.h>

#include "compll/ops/cpu/decode-inl.h"
#include "compll/ops/cpu/gather-inl.h"
#include "compll/ops/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

using reference::BlockScale;

using U8 = hn::Rebind<uint8_t, F32>;
using I8 = hn::Rebind<int8_t, F32>;

struct Levels8 {
  static constexpr float kMost = 127;
  static constexpr size_t kLineElements = 64;
  static constexpr size_t bytes(size_t elements) { return elements; }

  static HWY_INLINE void store(VecU levels, std::byte* codes, size_t i) {
    store_codes(hn::TruncateTo(U8(), levels), U8(), codes + i);
  }

  using Scale = VecF;
  static HWY_INLINE Scale scale_of(float scale) { return hn::Set(F32(), scale); }
  static HWY_INLINE VecF decode(const std::byte* codes, size_t i, Scale scale) {
    return hn::Mul(hn::ConvertTo(F32(), hn::PromoteTo(I32(), load_codes(I8(), codes + i))), scale);
  }
};

struct Levels4 {
  static constexpr float kMost = 7;
  static constexpr size_t kLineElements = 128;
  static constexpr size_t bytes(size_t elements) { return (elements + 1) / 2; }

#if HWY_TARGET == HWY_SCALAR
  static HWY_INLINE void store(VecU levels, std::byte* codes, size_t i) {
    const auto nibble = static_cast<std::byte>(hn::GetLane(levels) & 15);
    codes[i / 2] = i % 2 == 0 ? nibble : (codes[i / 2] | nibble << 4);
  }
  using Scale = float;
  static HWY_INLINE Scale scale_of(float scale) { return scale; }
  static HWY_INLINE VecF decode(const std::byte* codes, size_t i, Scale scale) {
    const int nibble = std::to_integer<int>(codes[i / 2]) >> (i % 2 * 4) & 15;
    return hn::Set(F32(), static_cast<float>((nibble ^ 8) - 8) * scale);
  }
#else
  // A pair of elements is one lane of 16 bits, and as such becomes one byte.
  using U16 = hn::Repartition<uint16_t, U8>;
  using Packed = hn::Rebind<uint8_t, U16>;

  static HWY_INLINE void store(VecU levels, std::byte* codes, size_t i) {
    const auto pairs = hn::BitCast(U16(), hn::TruncateTo(U8(), levels));
    const auto low = hn::And(pairs, hn::Set(U16(), uint16_t{0x000f}));
    const auto high = hn::And(hn::ShiftRight<4>(pairs), hn::Set(U16(), uint16_t{0x00f0}));
    store_codes(hn::TruncateTo(Packed(), hn::Or(low, high)), Packed(), codes + i / 2);
  }
  // The nibbles of a byte as two bytes, the low one first.
  static HWY_INLINE hn::Vec<U8> load(const std::byte* codes, size_t i) {
    const auto bytes = hn::PromoteTo(U16(), load_codes(Packed(), codes + i / 2));
    const auto both = hn::Or(bytes, hn::ShiftLeft<4>(bytes));
    return hn::BitCast(U8(), hn::And(both, hn::Set(U16(), uint16_t{0x0f0f})));
  }

  // With 16 lanes a vector holds what all 16 codes of a block stand for.
  using Scale = VecF;
  static HWY_INLINE Scale scale_of(float scale) {
    const VecF factor = hn::Set(F32(), scale);
    if constexpr (kLanes < 16) return factor;
    HWY_ALIGN static constexpr float kLevels[16] = {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};
    return hn::Mul(hn::LoadU(F32(), kLevels), factor);
  }
  static HWY_INLINE VecF decode(const std::byte* codes, size_t i, Scale scale) {
    if constexpr (kLanes == 16) {
      const VecI nibbles = hn::PromoteTo(I32(), load(codes, i));
      return hn::TableLookupLanes(scale, hn::IndicesFromVec(F32(), nibbles));
    } else {
      const auto eight = hn::Set(I8(), int8_t{8});
      const auto levels = hn::Sub(hn::Xor(hn::BitCast(I8(), load(codes, i)), eight), eight);
      return hn::Mul(hn::ConvertTo(F32(), hn::PromoteTo(I32(), levels)), scale);
    }
  }
#endif
};

// Added to a number below 2^22 it leaves the number, rounded to nearest even, in the low bits of the sum.
inline constexpr float kRounder = 12582912;  // 1.5 * 2^23

/// Codes and residuals of p[0..count), which is padded with zeros to whole vectors and is at `at` in its tile.
template <class Levels, bool kFeedback, Write kWrite>
HWY_INLINE void quantize(const float* p, size_t count, const BlockScale& block, std::byte* codes, float* residual,
                         const Ahead& ahead, size_t at) {
  const VecF inverse = hn::Set(F32(), block.inverse), scale = hn::Set(F32(), block.scale);
  const VecF rounder = hn::Set(F32(), kRounder);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    ahead.fetch(at + i);
    if (i % Levels::kLineElements == 0) fetch_ahead(codes + Levels::bytes(i));  // a store, too, waits for its line
    const VecF value = hn::LoadU(F32(), p + i);
    const VecF rounded = hn::Add(hn::Mul(value, inverse), rounder);
    Levels::store(hn::BitCast(U32(), rounded), codes, i);
    if constexpr (kFeedback) {
      write<kWrite>(hn::Sub(value, hn::Mul(hn::Sub(rounded, rounder), scale)), residual + i);
    }
  }
  if (i < count) {
    const VecF value = hn::LoadU(F32(), p + i);
    const VecF rounded = hn::Add(hn::Mul(value, inverse), rounder);
    std::byte tail[kLanes];
    Levels::store(hn::BitCast(U32(), rounded), tail, 0);
    std::memcpy(codes + Levels::bytes(i), tail, Levels::bytes(count - i));
    if constexpr (kFeedback) {
      write_tail<Write::kPlain>(hn::Sub(value, hn::Mul(hn::Sub(rounded, rounder), scale)), residual + i, count - i);
    }
  }
}

template <class Levels>
HWY_INLINE void quantize_block(const float* p, size_t count, const BlockScale& block, std::byte* codes, float* out,
                               Write mode, const Ahead& ahead, size_t at) {
  if (!block.is_finite()) {
    std::memset(codes, 0, Levels::bytes(count));
    if (out != nullptr) std::fill_n(out, count, block.scale);
  } else if (out == nullptr) {
    quantize<Levels, false, Write::kPlain>(p, count, block, codes, out, ahead, at);
  } else if (mode == Write::kStream) {
    quantize<Levels, true, Write::kStream>(p, count, block, codes, out, ahead, at);
  } else {
    quantize<Levels, true, Write::kPlain>(p, count, block, codes, out, ahead, at);
  }
}

/// The largest magnitude's bits in p[0..count), which is padded to whole vectors.
HWY_INLINE uint32_t top_magnitude(const float* p, size_t count) {
  VecI top = hn::Zero(I32());
  for (size_t i = 0; i < count; i += kLanes) top = hn::Max(top, magnitude_bits(hn::LoadU(F32(), p + i)));
  return max_of_lanes(top);
}

template <class Levels>
bool encode_all(const LevelTile& tile, const Scaled& source, float* scratch, float* out, Write mode) {
  // All magnitudes first, then all codes: the divisions between then have other blocks to overlap with.
  constexpr size_t kSome = 64;
  const Ahead ahead(source, tile.count, scratch);
  BlockScale scales[kSome];
  bool finite = true;
  for (size_t begin = 0; begin < tile.count;) {
    const size_t end = std::min(begin + kSome * tile.block, tile.count);
    const float* p = gather(source.from(begin), end - begin, scratch + begin) - begin;
    for (size_t b = begin, k = 0; b < end; b += tile.block, ++k) {
      scales[k] = reference::block_scale(top_magnitude(p + b, std::min(tile.block, end - b)), Levels::kMost);
      std::memcpy(tile.scales + b / tile.block * sizeof(float), &scales[k].scale, sizeof(float));
      finite &= scales[k].is_finite();
    }
    for (size_t b = begin, k = 0; b < end; b += tile.block, ++k) {
      quantize_block<Levels>(p + b, std::min(tile.block, end - b), scales[k], tile.codes + Levels::bytes(b),
                             out == nullptr ? nullptr : out + b, mode, ahead, b);
    }
    begin = end;
  }
  return finite;
}

template <class Levels>
struct LevelTerm {
  static constexpr size_t kLineElements = Levels::kLineElements;
  CodeTile tile;
  typename Levels::Scale scale;

  HWY_INLINE void enter(size_t block) { scale = Levels::scale_of(load_scale(tile.scales, block)); }
  HWY_INLINE void fetch(size_t i) const { fetch_ahead(tile.codes + Levels::bytes(i)); }
  HWY_INLINE VecF at(size_t i) const { return Levels::decode(tile.codes, i, scale); }
  HWY_INLINE VecF tail(size_t i, size_t rest) const {
    std::byte padded[kLanes] = {};
    std::memcpy(padded, tile.codes + Levels::bytes(i), Levels::bytes(rest));
    return Levels::decode(padded, 0, scale);
  }
};

template <class Levels>
void decode_all(const CodeTile* tiles, size_t size, size_t block, size_t count, float* out, Write mode) {
  for (size_t t = 0; t < size; t += kMostTerms) {
    LevelTerm<Levels> terms[kMostTerms];
    const size_t some = std::min(kMostTerms, size - t);
    for (size_t k = 0; k < some; ++k) terms[k].tile = tiles[t + k];
    sum_code_terms(terms, some, block, count, out, t == 0 ? mode : Write::kAdd);
  }
}

bool encode_levels_simd(LevelBits bits, const LevelTile& tile, const Scaled& source, float* scratch, float* out,
                        Write mode) {
  return bits == LevelBits::k4 ? encode_all<Levels4>(tile, source, scratch, out, mode)
                               : encode_all<Levels8>(tile, source, scratch, out, mode);
}

void decode_levels_simd(LevelBits bits, const CodeTile* tiles, size_t size, size_t block, size_t count, float* out,
                        Write mode) {
  if (bits == LevelBits::k4) return decode_all<Levels4>(tiles, size, block, count, out, mode);
  decode_all<Levels8>(tiles, size, block, count, out, mode);
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace casync::compll {
HWY_EXPORT(encode_levels_simd);
HWY_EXPORT(decode_levels_simd);

bool encode_levels(LevelBits bits, const LevelTile& tile, const Scaled& source, float* scratch, float* residual_out,
                   Write mode) {
  return HWY_DYNAMIC_DISPATCH(encode_levels_simd)(bits, tile, source, scratch, residual_out, mode);
}

void decode_levels(LevelBits bits, std::span<const CodeTile> tiles, Elements block, Elements count, float* out,
                   Write mode) {
  CASYNC_CHECK(!tiles.empty());
  HWY_DYNAMIC_DISPATCH(decode_levels_simd)(bits, tiles.data(), tiles.size(), block, count, out, mode);
}

}  // namespace casync::compll
#endif  // HWY_ONCE
