// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/codecs/yardsticks/sign_loops.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/codecs/yardsticks/sign_loops.cc"
#include <hwy/foreach_target.h>

#include "compll/ops/cpu/decode-inl.h"
#include "compll/ops/cpu/gather-inl.h"
#include "compll/ops/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
using F64 = hn::Rebind<double, F32>;
#else
using F64 = hn::Rebind<double, hn::Half<F32>>;
#endif
using VecD = hn::Vec<F64>;
inline constexpr size_t kVectors = kPadding / kLanes;            // in a group of 16 elements
inline constexpr size_t kSums = kPadding / hn::MaxLanes(F64());  // accumulators for its 16 lanes
inline constexpr size_t kSumsPerVector = kSums / kVectors;       // 2, or 1 where a vector is one element
inline constexpr size_t kGroupBytes = kPadding / 8;

/// Bits of one group: lane i of the group in bit i.
HWY_INLINE void store_signs(const hn::Mask<F32>* negative, std::byte* to) {
  auto* bytes = reinterpret_cast<uint8_t*>(to);
  if constexpr (kLanes >= 8) {
    for (size_t v = 0; v < kVectors; ++v) hn::StoreMaskBits(F32(), negative[v], bytes + v * kLanes / 8);
  } else {
    unsigned group = 0;
    for (size_t v = 0; v < kVectors; ++v) {
      uint8_t bits[8];
      hn::StoreMaskBits(F32(), negative[v], bits);
      group |= static_cast<unsigned>(bits[0]) << (v * kLanes);
    }
    bytes[0] = static_cast<uint8_t>(group);
    bytes[1] = static_cast<uint8_t>(group >> 8);
  }
}

HWY_INLINE VecD widen([[maybe_unused]] size_t half, VecF v) {
#if HWY_TARGET == HWY_SCALAR
  return hn::PromoteTo(F64(), v);
#else
  const hn::Half<F32> halves;
  return hn::PromoteTo(F64(), half == 0 ? hn::LowerHalf(halves, v) : hn::UpperHalf(halves, v));
#endif
}

HWY_INLINE double in_halves(double* lanes) {
  for (size_t half = kPadding / 2; half != 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}
HWY_INLINE double sum_of_lanes(const VecD* sums) {
  HWY_ALIGN double lanes[kPadding];
  for (size_t s = 0; s < kSums; ++s) hn::Store(sums[s], F64(), lanes + s * hn::MaxLanes(F64()));
  return in_halves(lanes);
}

struct SignSums {
  double at_least_zero = 0, below_zero = 0;
  uint32_t top = 0;  ///< the largest magnitude's bits
};

// A block has 16 chunks at most: one for each lane of the sum of their sums.
inline constexpr size_t kChunk = 4096;

/// Bits and sums of a chunk p[0..count), padded with zeros to whole groups; writes no bytes beyond ceil(count / 8).
HWY_INLINE SignSums split_chunk(const float* p, size_t count, std::byte* codes, const Ahead& ahead, size_t at) {
  const VecD zero = hn::Zero(F64());
  VecD above[kSums], below[kSums];
  for (size_t s = 0; s < kSums; ++s) above[s] = below[s] = zero;
  VecI top = hn::Zero(I32());
  for (size_t i = 0; i < count; i += kPadding) {
    ahead.fetch(at + i);
    hn::Mask<F32> negative[kVectors];
    for (size_t v = 0; v < kVectors; ++v) {
      const VecF value = hn::LoadU(F32(), p + i + v * kLanes);
      negative[v] = hn::Lt(value, hn::Zero(F32()));
      top = hn::Max(top, magnitude_bits(value));
      for (size_t half = 0; half < kSumsPerVector; ++half) {
        const size_t s = v * kSumsPerVector + half;
        const VecD wide = widen(half, value);
        above[s] = hn::Add(above[s], hn::Max(wide, zero));
        below[s] = hn::Add(below[s], hn::Min(wide, zero));
      }
    }
    if (count - i >= kPadding) {
      store_signs(negative, codes + i / 8);
    } else {
      std::byte tail[kGroupBytes];
      store_signs(negative, tail);
      std::memcpy(codes + i / 8, tail, (count - i + 7) / 8);
    }
  }
  return {sum_of_lanes(above), sum_of_lanes(below), max_of_lanes(top)};
}

/// The same of a block.
HWY_INLINE SignSums split_signs(const float* p, size_t count, std::byte* codes, const Ahead& ahead, size_t at) {
  double above[kPadding] = {}, below[kPadding] = {};
  uint32_t top = 0;
  for (size_t first = 0, c = 0; first < count; first += kChunk, ++c) {
    const size_t size = std::min(kChunk, count - first);
    const SignSums chunk = split_chunk(p + first, size, codes + first / 8, ahead, at + first);
    if (size == count) return chunk;
    above[c] = chunk.at_least_zero;
    below[c] = chunk.below_zero;
    top = std::max(top, chunk.top);
  }
  return {in_halves(above), in_halves(below), top};
}

size_t count_ones(const std::byte* codes, size_t bytes) {
  size_t ones = 0, i = 0;
  for (; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, codes + i, sizeof word);
    ones += static_cast<size_t>(std::popcount(word));
  }
  for (; i < bytes; ++i) ones += static_cast<size_t>(std::popcount(std::to_integer<unsigned>(codes[i])));
  return ones;
}

HWY_INLINE float mean(double sum, size_t count) {
  return count == 0 ? 0.0f : static_cast<float>(sum / static_cast<double>(count));
}

template <Write kWrite>
HWY_INLINE void subtract_means(const float* p, size_t count, const float* means, float* out) {
  const VecF above = hn::Set(F32(), means[0]), below = hn::Set(F32(), means[1]);
  const auto residual = [&](size_t i) HWY_ATTR {
    const VecF value = hn::LoadU(F32(), p + i);
    return hn::Sub(value, hn::IfThenElse(hn::Lt(value, hn::Zero(F32())), below, above));
  };
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) write<kWrite>(residual(i), out + i);
  if (i < count) write_tail<Write::kPlain>(residual(i), out + i, count - i);
}

/// Says whether the block is finite.
HWY_INLINE bool encode_block(const float* p, size_t count, std::byte* above, std::byte* below, std::byte* codes,
                             float* out, Write mode, const Ahead& ahead, size_t at) {
  const SignSums sums = split_signs(p, count, codes, ahead, at);
  const bool finite = sums.top < kFloat32Infinity;
  const size_t negatives = count_ones(codes, (count + 7) / 8);
  float means[2] = {mean(sums.at_least_zero, count - negatives), mean(sums.below_zero, negatives)};
  if (!finite) means[0] = means[1] = std::bit_cast<float>(kFloat32NaN);
  std::memcpy(above, &means[0], sizeof(float));
  std::memcpy(below, &means[1], sizeof(float));
  if (out == nullptr) return finite;
  mode == Write::kStream ? subtract_means<Write::kStream>(p, count, means, out)
                         : subtract_means<Write::kPlain>(p, count, means, out);
  return finite;
}

bool encode_signs_simd(const SignTile& tile, const Scaled& source, float* scratch, float* out, Write mode) {
  const float* p = gather(source, tile.count, scratch);
  const Ahead ahead(source, tile.count, scratch);
  bool finite = true;
  for (size_t b = 0; b < tile.count; b += tile.block) {
    const size_t entry = b / tile.block * sizeof(float);
    finite &= encode_block(p + b, std::min(tile.block, tile.count - b), tile.above + entry, tile.below + entry,
                           tile.codes + b / 8, out == nullptr ? nullptr : out + b, mode, ahead, b);
  }
  return finite;
}

struct SignTerm {
  static constexpr size_t kLineElements = 512;
  CodeTile tile;
  size_t between;
  VecF above, below;

  HWY_INLINE void enter(size_t block) {
    above = hn::Set(F32(), load_scale(tile.scales, block));
    below = hn::Set(F32(), load_scale(tile.scales + between, block));
  }
  HWY_INLINE void fetch(size_t i) const { fetch_ahead(tile.codes + i / 8); }
  HWY_INLINE VecF at(size_t i) const {
    const auto* bytes = reinterpret_cast<const uint8_t*>(tile.codes) + i / 8;
    if constexpr (kLanes >= 8) {
      return select(bytes);
    } else {
      const uint8_t bits[8] = {static_cast<uint8_t>(bytes[0] >> (i % 8))};
      return select(bits);
    }
  }
  // A partial vector: only the bytes that are there.
  HWY_INLINE VecF tail(size_t i, size_t rest) const {
    uint8_t padded[8] = {};
    std::memcpy(padded, tile.codes + i / 8, (i % 8 + rest + 7) / 8);
    if constexpr (kLanes < 8) padded[0] = static_cast<uint8_t>(padded[0] >> (i % 8));
    return select(padded);
  }
  HWY_INLINE VecF select(const uint8_t* bits) const {
    return hn::IfThenElse(hn::LoadMaskBits(F32(), bits), below, above);
  }
};

void decode_signs_simd(const CodeTile* tiles, size_t size, size_t between, size_t block, size_t count, float* out,
                       Write mode) {
  for (size_t t = 0; t < size; t += kMostTerms) {
    SignTerm terms[kMostTerms];
    const size_t some = std::min(kMostTerms, size - t);
    for (size_t k = 0; k < some; ++k) terms[k] = {tiles[t + k], between, hn::Zero(F32()), hn::Zero(F32())};
    sum_code_terms(terms, some, block, count, out, t == 0 ? mode : Write::kAdd);
  }
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace casync::compll {
HWY_EXPORT(encode_signs_simd);
HWY_EXPORT(decode_signs_simd);

bool encode_signs(const SignTile& tile, const Scaled& source, float* scratch, float* residual_out, Write mode) {
  return HWY_DYNAMIC_DISPATCH(encode_signs_simd)(tile, source, scratch, residual_out, mode);
}

void decode_signs(std::span<const CodeTile> tiles, Bytes between, Elements block, Elements count, float* out,
                  Write mode) {
  CASYNC_CHECK(!tiles.empty());
  HWY_DYNAMIC_DISPATCH(decode_signs_simd)(tiles.data(), tiles.size(), between, block, count, out, mode);
}

}  // namespace casync::compll
#endif  // HWY_ONCE
