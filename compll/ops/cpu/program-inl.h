// SPDX-License-Identifier: Apache-2.0
// The part that generated codecs share: loading a tile's elements, summing codes and writing floats. Included after
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

#include "compll/ops/cpu/gather-inl.h"
#include "compll/ops/cpu/half-inl.h"
#include "compll/ops/cpu/random-inl.h"
#include "compll/ops/cpu/reducers-inl.h"
#include "compll/ops/generated.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

/// The number of elements in a whole group of sixteen, as a type.
using Whole = std::integral_constant<size_t, kGroup>;

// Stands after the parameters of a lambda that is the body of a loop: a call for each sixteen elements would take
// longer than the body, and would put all variables that it refers to into memory.
#undef COMPLL_INLINE
#if defined(__GNUC__)
#define COMPLL_INLINE HWY_ATTR __attribute__((always_inline))
#else
#define COMPLL_INLINE HWY_ATTR
#endif

/// Calls body(i, count) for each sixteen elements of a range; `count` is a constant but for the last group.
template <class Body>
HWY_INLINE void for_groups(size_t begin, size_t end, const Body& body) {
  // Computes the end of the whole groups first: the loop then has one counter, of which its addresses are made.
  const size_t whole = begin + (end - begin) / kGroup * kGroup;
  for (size_t i = begin; i < whole; i += kGroup) body(i, Whole());
  if (whole < end) body(whole, end - whole);
}

/// A whole group of for_fours, with its number among the four: as a type, so that values which a body keeps of the
/// other groups stay in registers.
template <size_t kNumber>
struct Fourth : Whole {
  static constexpr size_t kPlace = kNumber;
};

/// Does as for_groups; if a vector holds sixteen, four a turn: counting and checking for ends is half of a loop there.
template <class Body>
HWY_INLINE void for_fours(size_t begin, size_t end, const Body& body) {
  if constexpr (kParts == 1) {
    const size_t fours = begin + (end - begin) / (4 * kGroup) * (4 * kGroup);
    for (; begin < fours; begin += 4 * kGroup) {
      body(begin, Fourth<0>());
      body(begin + kGroup, Fourth<1>());
      body(begin + 2 * kGroup, Fourth<2>());
      body(begin + 3 * kGroup, Fourth<3>());
    }
  }
  for_groups(begin, end, body);
}

/// Blocks of a tile that are worked on together: the computing between the loops over a block's elements, a chain of
/// divisions, then overlaps with that of other blocks.
inline constexpr size_t kBlocksTogether = 64;

/// scale * values + residual, sixteen at a time; zeros after the last element. The template says if there are a scale
/// and a residual; multiplying by 1 changes nothing, so a residual alone is no case of its own.
template <bool kScale, bool kResidual>
class Input {
 public:
  HWY_INLINE explicit Input(const Scaled& source) : source_(source) {}

  HWY_INLINE Float load(size_t i, size_t rest) const {
    if (rest < kGroup) return load_tail(source_, i, rest);
    fetch_ahead(source_.values + i, kFetchFloatsAhead);
    if constexpr (kResidual) fetch_ahead(source_.residual + i, kFetchFloatsAhead);
    return combined(load_floats(source_.values + i), kResidual ? load_floats(source_.residual + i) : Float(0.0f));
  }

 private:
  HWY_INLINE Float combined(Float values, [[maybe_unused]] Float residual) const {
    if constexpr (kScale) values = values * Float(source_.scale);
    if constexpr (kResidual) values = values + residual;
    return values;
  }
  // Takes `source` by value: an object that no other function can see stays in registers.
  static HWY_NOINLINE Float load_tail(Scaled source, size_t i, size_t rest) {
    HWY_ALIGN float values[kGroup] = {}, residual[kGroup] = {};
    std::memcpy(values, source.values + i, rest * sizeof(float));
    if (kResidual) std::memcpy(residual, source.residual + i, rest * sizeof(float));
    return Input(source).combined(load_floats(values), load_floats(residual));
  }

  Scaled source_;
};

/// Calls run(Input) with the input that this source needs.
template <class Run>
HWY_INLINE bool with_input(const Scaled& source, const Run& run) {
  if (source.is_plain()) return run(Input<false, false>(source));
  return source.residual == nullptr ? run(Input<true, false>(source)) : run(Input<true, true>(source));
}

/// Offset in bytes of element i, which begins a group. The usual widths take one shift, or none.
template <int kBits>
HWY_INLINE size_t section_bytes(size_t i) {
  if constexpr (kBits % 8 == 0) return i * (kBits / 8);
  if constexpr (kBits < 8 && 8 % kBits == 0) return i / (8 / kBits);
  return i * kBits / 8;
}

/// Prefetches a section far ahead, once for each line of its memory.
template <int kBits>
HWY_INLINE void fetch_section(const std::byte* section, size_t i) {
  if constexpr (kBits <= 8) {
    if (i % (512 / kBits) == 0) fetch_ahead(section + section_bytes<kBits>(i));
  }
}

// The end of a vector is handled out of line: it is rare, and inlined it would compile everything twice.
template <int kBits>
HWY_NOINLINE Uint load_tail(const std::byte* from, size_t rest) {
  HWY_ALIGN std::byte padded[kGroupBytes<kBits>] = {};
  std::memcpy(padded, from, (rest * kBits + 7) / 8);
  return load_uint<kBits>(padded);
}

/// Loads elements i and on of a section of the tile.
template <int kBits>
HWY_INLINE Uint load_uint(const std::byte* section, size_t i, size_t rest) {
  if (rest >= kGroup) return load_uint<kBits>(section + section_bytes<kBits>(i));
  return load_tail<kBits>(section + section_bytes<kBits>(i), rest);
}
template <int kBits>
HWY_INLINE Int load_int(const std::byte* section, size_t i, size_t rest) {
  if (rest >= kGroup) return load_int<kBits>(section + section_bytes<kBits>(i));
  return shift_right<32 - kBits>(
      shift_left<32 - kBits>(as_int(load_tail<kBits>(section + section_bytes<kBits>(i), rest))));
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
  if (rest >= kGroup) return store_codes<kBits>(codes, section + section_bytes<kBits>(i));
  store_tail<kBits>(codes, section + section_bytes<kBits>(i), rest);
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

/// Writes floats that are kept from step to step: a residual or a state.
HWY_INLINE void write_kept(Float values, float* kept, size_t i, size_t rest, Write mode) {
  mode == Write::kStream ? write_floats<Write::kStream>(values, kept + i, rest)
                         : write_floats<Write::kPlain>(values, kept + i, rest);
}

/// first, first + 1, ...
HWY_INLINE VecU numbers_from(uint32_t first) {
  HWY_ALIGN static constexpr uint32_t kIndex[kGroup] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return hn::Add(hn::Load(U32(), kIndex), hn::Set(U32(), first));
}
template <class Group>
HWY_INLINE Group index_group(uint64_t first) {
  Uint r;
  COMPLL_EACH r.v[k] = numbers_from(static_cast<uint32_t>(first) + static_cast<uint32_t>(k * kLanes));
  if constexpr (std::is_same_v<Group, Int>) {
    return as_int(r);
  } else {
    return r;
  }
}

// x86 selects by the low bits of an index, so bits of the next codes do no harm in a table that repeats itself.
#if COMPLL_IS_X86 && HWY_TARGET <= HWY_AVX2
HWY_INLINE __m256 picked_raw(__m256 table, __m256i index) { return _mm256_permutevar8x32_ps(table, index); }
#if HWY_TARGET <= HWY_AVX3
HWY_INLINE __m512 picked_raw(__m512 table, __m512i index) { return _mm512_permutexvar_ps(index, table); }
#endif
#endif

/// The values that codes of a few bits stand for in a block, if a vector can hold them: then elements are looked up,
/// not computed. `Group` is Int or Uint, as the codes are.
template <int kBits, class Group>
class CodeTable {
 public:
  /// `block.value` decodes codes.
  template <class Block>
  HWY_INLINE void set(const Block& block) {
    if constexpr (kBits == 1) {
      table_ = block.value(Group(0));
      ones_ = block.value(std::is_same_v<Group, Int> ? Group(-1) : Group(1));
    } else if constexpr (kHolds) {
      HWY_ALIGN static constexpr int32_t kIndex[kGroup] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
      Int codes;
      COMPLL_EACH codes.v[k] = hn::Load(I32(), kIndex + k * kLanes);
      if constexpr (std::is_same_v<Group, Int>) {
        table_ = block.value(shift_right<32 - kBits>(shift_left<32 - kBits>(codes)));
      } else {
        table_ = block.value(as_uint(codes) & Uint((1u << kBits) - 1));
      }
    }
  }

  /// Decodes the sixteen codes of a section from `i` on.
  template <class Block>
  HWY_INLINE Float at(const std::byte* section, size_t i, size_t rest, const Block& block) const {
    if constexpr (kBits == 1 || kHolds) {
      if (rest >= kGroup) return pick(section + section_bytes<kBits>(i));
      return pick_tail(section + section_bytes<kBits>(i), rest);
    } else if constexpr (std::is_same_v<Group, Int>) {
      return block.value(load_int<kBits>(section, i, rest));
    } else {
      return block.value(load_uint<kBits>(section, i, rest));
    }
  }

 private:
  static constexpr bool kHolds = (size_t{1} << kBits) <= kLanes;

  HWY_INLINE Float pick(const std::byte* from) const {
    if constexpr (kBits == 1) return select(load_bits(from), ones_, table_);
    const Uint codes = load_low<kBits>(from);
    Float values;
    COMPLL_EACH {
#if COMPLL_IS_X86 && HWY_TARGET <= HWY_AVX2
      values.v[k] = VecF{picked_raw(table_.v[0].raw, codes.v[k].raw)};
#else
      const VecU index = hn::And(codes.v[k], hn::Set(U32(), (1u << kBits) - 1));
      values.v[k] = hn::TableLookupLanes(table_.v[0], hn::IndicesFromVec(F32(), index));
#endif
    }
    return values;
  }
  HWY_NOINLINE Float pick_tail(const std::byte* from, size_t rest) const {
    HWY_ALIGN std::byte padded[kGroupBytes<kBits>] = {};
    std::memcpy(padded, from, (rest * kBits + 7) / 8);
    return pick(padded);
  }

  Float table_, ones_;
};

/// Decodes the elements after the last whole sixteen of a tile, as decode_sum does.
template <class Decoder>
HWY_NOINLINE void decode_tail(const GeneratedTile& tile, const std::byte* const* sections, size_t terms, float* out,
                              bool add) {
  const size_t i = tile.count / kGroup * kGroup, rest = tile.count - i;
  Float sum;
  for (size_t t = 0; t < terms; ++t) {
    Decoder decoder;
    decoder.begin(tile, sections + t * Decoder::kSections);
    decoder.enter(tile, i / Decoder::block(tile));
    const Float value = decoder.at(tile, i, rest);
    sum = t == 0 ? value : sum + value;
  }
  add ? write_tail<Write::kAdd>(sum, out + i, rest) : write_tail<Write::kPlain>(sum, out + i, rest);
}

/// out = the sum of kTerms decoded tiles, in their order.
template <size_t kTerms, Write kWrite, class Decoder>
HWY_INLINE void decode_sum(const GeneratedTile& tile, const std::byte* const* sections, float* out) {
  Decoder decoders[kTerms];
  for (size_t t = 0; t < kTerms; ++t) decoders[t].begin(tile, sections + t * Decoder::kSections);
  const size_t block = Decoder::block(tile), whole = tile.count / kGroup * kGroup;
  for (size_t b = 0, entry = 0; b < whole; b += block, ++entry) {
    for (size_t t = 0; t < kTerms; ++t) decoders[t].enter(tile, entry);
    const size_t end = std::min(b + block, whole);
    for (size_t i = b; i < end; i += kGroup) {
      if constexpr (kTerms > 1) {
        for (size_t t = 0; t < kTerms; ++t) decoders[t].fetch(i);
      }
      Float sum = decoders[0].at(tile, i, Whole());
      if constexpr (kTerms > 1) {
        for (size_t t = 1; t < kTerms; ++t) sum = sum + decoders[t].at(tile, i, Whole());
      }
      write_floats<kWrite>(sum, out + i, Whole());
    }
  }
  if (whole < tile.count) decode_tail<Decoder>(tile, sections, kTerms, out, kWrite == Write::kAdd);
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
  static_assert(kBits <= 32);
  uint64_t held = 0;
  [[maybe_unused]] const size_t first = index * kBits / 8, last = (index * kBits + kBits + 7) / 8;
  if constexpr (8 % kBits == 0) {
    held = std::to_integer<uint64_t>(section[first]);
  } else if constexpr (kBits % 8 == 0) {
    std::memcpy(&held, section + first, kBits / 8);
  } else {
    std::memcpy(&held, section + first, last - first);
  }
  return static_cast<uint32_t>(held >> (index * kBits % 8) & ((uint64_t{1} << kBits) - 1));
}
template <int kBits>
HWY_INLINE int32_t load_one_int(const std::byte* section, size_t index) {
  return static_cast<int32_t>(load_one_uint<kBits>(section, index) << (32 - kBits)) >> (32 - kBits);
}
HWY_INLINE float load_one_float(const std::byte* section, size_t index) { return load_scale(section, index); }
HWY_INLINE double load_one_double(const std::byte* section, size_t index) {
  double value;
  std::memcpy(&value, section + index * sizeof value, sizeof value);
  return value;
}

/// Stores an entry. Entries are stored in their order, so the bits after this one come later.
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
