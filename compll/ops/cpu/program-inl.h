// SPDX-License-Identifier: Apache-2.0
// What generated codecs share: how a tile's elements come in, how codes are summed and floats written. Included after
// hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_PROGRAM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_PROGRAM_INL_H_
#undef COMPLL_OPS_CPU_PROGRAM_INL_H_
#else
#define COMPLL_OPS_CPU_PROGRAM_INL_H_
#endif

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>

#include "compll/ops/cpu/random-inl.h"
#include "compll/ops/cpu/reducers-inl.h"
#include "compll/ops/generated.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

/// scale * values + residual, sixteen at a time; zeros behind the last element. Which of the three there are is known
/// when a loop is compiled.
template <bool kScale, bool kResidual>
class Input {
 public:
  HWY_INLINE Input(const Scaled& source, size_t count, const float* scratch)
      : source_(source),
        next_values_(source.values == scratch ? nullptr : source.values + count),
        next_residual_(kResidual ? source.residual + count : nullptr) {}

  HWY_INLINE Float load(size_t i, size_t rest) const {
    if (rest < kGroup) return load_tail(i, rest);
    Float values = load_floats(source_.values + i);
    if constexpr (kScale) values = values * Float(source_.scale);
    if constexpr (kResidual) values = values + load_floats(source_.residual + i);
    return values;
  }

  /// Fetches what the next tile will load while this one is computed: computing alone leaves the memory idle.
  HWY_INLINE void fetch_next(size_t i) const {
    if (next_values_ != nullptr) hwy::Prefetch(next_values_ + i);
    if constexpr (kResidual) hwy::Prefetch(next_residual_ + i);
  }

 private:
  HWY_NOINLINE Float load_tail(size_t i, size_t rest) const {
    HWY_ALIGN float values[kGroup] = {}, residual[kGroup] = {};
    std::memcpy(values, source_.values + i, rest * sizeof(float));
    if (kResidual) std::memcpy(residual, source_.residual + i, rest * sizeof(float));
    Float sum = load_floats(values);
    if constexpr (kScale) sum = sum * Float(source_.scale);
    if constexpr (kResidual) sum = sum + load_floats(residual);
    return sum;
  }

  Scaled source_;
  const float* next_values_;
  const float* next_residual_;
};

/// Calls run(Input) with what this source needs.
template <class Run>
HWY_INLINE bool with_input(const Scaled& source, size_t count, const float* scratch, const Run& run) {
  if (source.is_plain()) return run(Input<false, false>(source, count, scratch));
  if (source.residual == nullptr) return run(Input<true, false>(source, count, scratch));
  if (source.scale == 1) return run(Input<false, true>(source, count, scratch));
  return run(Input<true, true>(source, count, scratch));
}

/// Once for each line of a section's memory: fetches what is far ahead.
template <int kBits>
HWY_INLINE void fetch_section(const std::byte* section, size_t i) {
  if constexpr (kBits <= 8) {
    if (i % (512 / kBits) == 0) fetch_ahead(section + i * kBits / 8);
  }
}

// What happens at the end of a vector is out of line: it is rare, and everything else would be compiled twice.
template <int kBits>
HWY_NOINLINE void load_tail(const std::byte* from, size_t rest, Uint& codes) {
  HWY_ALIGN std::byte padded[kGroupBytes<kBits>] = {};
  std::memcpy(padded, from, (rest * kBits + 7) / 8);
  codes = load_uint<kBits>(padded);
}

/// Elements i and on of a section of the tile.
template <int kBits>
HWY_INLINE Uint load_uint(const std::byte* section, size_t i, size_t rest) {
  if (rest >= kGroup) return load_uint<kBits>(section + i * kBits / 8);
  Uint codes;
  load_tail<kBits>(section + i * kBits / 8, rest, codes);
  return codes;
}
template <int kBits>
HWY_INLINE Int load_int(const std::byte* section, size_t i, size_t rest) {
  const Int codes = as_int(load_uint<kBits>(section, i, rest));
  return kBits == 32 ? codes : shift_right<32 - kBits>(shift_left<32 - kBits>(codes));
}
HWY_INLINE Float load_float(const std::byte* section, size_t i, size_t rest) {
  return from_bits(load_uint<32>(section, i, rest));
}

template <int kBits, class Group>
HWY_NOINLINE void store_tail(const Group& codes, std::byte* to, size_t rest) {
  HWY_ALIGN std::byte padded[kGroupBytes<kBits>];
  store_codes<kBits>(or_else(codes, Group(0), rest), padded);
  std::memcpy(to, padded, (rest * kBits + 7) / 8);
}
template <int kBits, class Group>
HWY_INLINE void store_section(Group codes, std::byte* section, size_t i, size_t rest) {
  if (rest >= kGroup) return store_codes<kBits>(codes, section + i * kBits / 8);
  store_tail<kBits>(codes, section + i * kBits / 8, rest);
}

template <Write kWrite>
HWY_NOINLINE void write_tail(const Float& values, float* to, size_t rest) {
  HWY_ALIGN float lanes[kGroup];
  store_floats(values, lanes);
  for (size_t i = 0; i < rest; ++i) to[i] = kWrite == Write::kAdd ? to[i] + lanes[i] : lanes[i];
}
template <Write kWrite>
HWY_INLINE void write_floats(Float values, float* to, size_t rest) {
  if (rest < kGroup) return write_tail<kWrite>(values, to, rest);
  if constexpr (kWrite == Write::kAdd) {
    store_floats(load_floats(to) + values, to);
  } else if constexpr (kWrite == Write::kStream) {
    stream_floats(values, to);
  } else {
    store_floats(values, to);
  }
}

/// What feedback keeps, where it is wanted.
HWY_INLINE void write_residual(Float values, float* residual, size_t i, size_t rest, Write mode) {
  if (residual == nullptr) return;
  mode == Write::kStream ? write_floats<Write::kStream>(values, residual + i, rest)
                         : write_floats<Write::kPlain>(values, residual + i, rest);
}

/// first, first + 1, ...
template <class Group>
HWY_INLINE Group index_group(uint64_t first) {
  HWY_ALIGN uint32_t index[kGroup];
  for (size_t i = 0; i < kGroup; ++i) index[i] = static_cast<uint32_t>(first + i);
  Uint r;
  COMPLL_EACH r.v[k] = hn::Load(U32(), index + k * kLanes);
  if constexpr (std::is_same_v<Group, Int>) {
    return as_int(r);
  } else {
    return r;
  }
}

/// out = the sum of kTerms decoded tiles, in their order.
template <size_t kTerms, Write kWrite, class Decoder>
HWY_INLINE void decode_sum(const GeneratedTile& tile, const std::byte* const* sections, float* out) {
  Decoder decoders[kTerms];
  for (size_t t = 0; t < kTerms; ++t) decoders[t].begin(tile, sections + t * Decoder::kSections);
  const size_t block = Decoder::block(tile);
  for (size_t b = 0; b < tile.count; b += block) {
    for (size_t t = 0; t < kTerms; ++t) decoders[t].enter(tile, b / block);
    const size_t end = std::min(b + block, tile.count);
    for (size_t i = b; i < end; i += kGroup) {
      const size_t rest = std::min(end - i, kGroup);
      if constexpr (kTerms > 1) {
        for (size_t t = 0; t < kTerms; ++t) decoders[t].fetch(i);
      }
      Float sum = decoders[0].at(tile, i, rest);
      if constexpr (kTerms > 1) {
        for (size_t t = 1; t < kTerms; ++t) sum = sum + decoders[t].at(tile, i, rest);
      }
      write_floats<kWrite>(sum, out + i, rest);
    }
  }
}

template <class Decoder>
void decode_sums(const GeneratedTile& tile, const std::byte* const* sections, size_t payloads, float* out, Write mode) {
  constexpr size_t kTogether = 4;
  for (size_t t = 0; t < payloads;) {
    const size_t some = std::min(kTogether, payloads - t);
    const std::byte* const* from = sections + t * Decoder::kSections;
    if (t != 0 || mode == Write::kAdd) {
      // Each is added by itself: that is what out += one, out += another means.
      for (size_t k = 0; k < some; ++k) decode_sum<1, Write::kAdd, Decoder>(tile, from + k * Decoder::kSections, out);
    } else if (some == 1 && mode == Write::kStream) {
      decode_sum<1, Write::kStream, Decoder>(tile, from, out);
    } else {
      switch (some) {
        case 1: decode_sum<1, Write::kPlain, Decoder>(tile, from, out); break;
        case 2: decode_sum<2, Write::kPlain, Decoder>(tile, from, out); break;
        case 3: decode_sum<3, Write::kPlain, Decoder>(tile, from, out); break;
        default: decode_sum<4, Write::kPlain, Decoder>(tile, from, out);
      }
    }
    t += some;
  }
}

/// Entries of a section that has one for each block, or one for the tensor.
template <int kBits>
HWY_INLINE uint32_t load_one_uint(const std::byte* section, size_t index) {
  uint64_t held = 0;
  const size_t first = index * kBits / 8, last = (index * kBits + kBits + 7) / 8;
  std::memcpy(&held, section + first, last - first);
  return static_cast<uint32_t>(held >> (index * kBits % 8) & ((uint64_t{1} << kBits) - 1));
}
template <int kBits>
HWY_INLINE int32_t load_one_int(const std::byte* section, size_t index) {
  return static_cast<int32_t>(load_one_uint<kBits>(section, index) << (32 - kBits)) >> (32 - kBits);
}
HWY_INLINE float load_one_float(const std::byte* section, size_t index) { return load_scale(section, index); }

/// Entries are stored in their order, so the bits behind one are still to come.
template <int kBits>
HWY_INLINE void store_one(uint32_t value, std::byte* section, size_t index) {
  const size_t first = index * kBits / 8, shift = index * kBits % 8, last = (index * kBits + kBits + 7) / 8;
  uint64_t held = shift == 0 ? 0 : std::to_integer<uint64_t>(section[first]) & ((uint64_t{1} << shift) - 1);
  held |= (value & ((uint64_t{1} << kBits) - 1)) << shift;
  std::memcpy(section + first, &held, last - first);
}
template <int kBits>
HWY_INLINE void store_one(int32_t value, std::byte* section, size_t index) {
  store_one<kBits>(static_cast<uint32_t>(value), section, index);
}
template <int kBits>
HWY_INLINE void store_one(float value, std::byte* section, size_t index) {
  static_assert(kBits == 32);
  std::memcpy(section + index * sizeof value, &value, sizeof value);
}
template <int kBits>
HWY_INLINE void store_one(double value, std::byte* section, size_t index) {
  static_assert(kBits == 64);
  std::memcpy(section + index * sizeof value, &value, sizeof value);
}

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle above
