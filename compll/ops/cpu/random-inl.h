// SPDX-License-Identifier: Apache-2.0
// Sixteen random numbers at a time (compll/ops/random.h). Included after hwy/foreach_target.h only.
#if defined(COMPLL_OPS_CPU_RANDOM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPLL_OPS_CPU_RANDOM_INL_H_
#undef COMPLL_OPS_CPU_RANDOM_INL_H_
#else
#define COMPLL_OPS_CPU_RANDOM_INL_H_
#endif

#include "compll/ops/cpu/conversions-inl.h"
#include "compll/ops/random.h"

HWY_BEFORE_NAMESPACE();
namespace casync::compll::HWY_NAMESPACE {

/// The random numbers of one place in a program for the elements from `first` on. They are drawn for several groups at
/// once: the ten rounds of a block follow from each other, and only other blocks can be computed meanwhile.
class Random {
 public:
  HWY_INLINE Random(const RandomStream& stream, uint64_t first, uint32_t purpose)
      : first_(stream.first + first), counter_{0, stream.step | uint64_t{purpose} << 32} {
    const std::array<std::uint32_t, 2> key = philox_key(stream);
    key_[0] = key[0];
    key_[1] = key[1];
  }

  /// Of the elements from `i` on; fastest where `i` grows.
  HWY_INLINE Uint bits(size_t i) {
    const uint64_t at = first_ + i;
    if (drawn_ == 0 || at - drawn_from_ > drawn_ - kGroup) draw(at / 4);
    Uint r;
    COMPLL_EACH r.v[k] = hn::LoadU(U32(), numbers_ + (at - drawn_from_) + k * kLanes);
    return r;
  }
  HWY_INLINE Float uniform(size_t i) { return to_float(as_int(shift_right<8>(bits(i)))) * Float(0x1p-24f); }

 private:
  static constexpr size_t kMost = 4 * kGroup;

#if HWY_TARGET != HWY_SCALAR
  // As many vectors as leave registers for the rest.
  static constexpr size_t kVectors = kLanes >= 8 ? 4 : 8;
  static constexpr size_t kDrawn = kVectors * kLanes;
  using U64 = hn::Repartition<uint64_t, U32>;
  using Blocks = hn::Vec<U64>;  // of Philox, each in 128 bits

  /// In every 128 bits these two words of 64.
  static HWY_INLINE Blocks pairs(uint64_t first, uint64_t second) {
    HWY_ALIGN const uint64_t both[2] = {first, second};
    return hn::LoadDup128(U64(), both);
  }

  /// MulEven multiplies a block's first and third word; a round gives the two products in reverse order, and the second
  /// and fourth word with them.
  HWY_INLINE void draw(uint64_t block) {
    HWY_ALIGN static constexpr uint64_t kIndex[8] = {0, 0, 1, 0, 2, 0, 3, 0};
    const VecU factors = hn::BitCast(U32(), pairs(0xd2511f53, 0xcd9e8d57));
    const VecU step = hn::BitCast(U32(), pairs(0x9e3779b9, 0xbb67ae85));
    const Blocks index = hn::Add(hn::Load(U64(), kIndex), hn::And(hn::Set(U64(), block), pairs(~uint64_t{0}, 0)));
    const Blocks same = hn::Add(index, hn::LoadDup128(U64(), counter_));
    VecU key = hn::BitCast(U32(), hn::LoadDup128(U64(), key_));
    Blocks counters[kVectors];
    for (size_t v = 0; v < kVectors; ++v) counters[v] = hn::Add(same, pairs(v * kLanes / 4, 0));
    for (int round = 0; round < 10; ++round) {
      for (size_t v = 0; v < kVectors; ++v) {
        const auto product = hn::MulEven(hn::BitCast(U32(), counters[v]), factors);
        const auto reversed = hn::BitCast(U64(), hn::Shuffle0123(hn::BitCast(U32(), product)));
        counters[v] = hn::Xor3(reversed, hn::ShiftRight<32>(counters[v]), hn::BitCast(U64(), key));
      }
      key = hn::Add(key, step);
    }
    for (size_t v = 0; v < kVectors; ++v) hn::Store(hn::BitCast(U32(), counters[v]), U32(), numbers_ + v * kLanes);
    drawn_from_ = 4 * block;
    drawn_ = kDrawn;
  }
#else
  static constexpr size_t kDrawn = 2 * kGroup;
  void draw(uint64_t block) {
    for (size_t i = 0; i < kDrawn; i += 4) {
      const uint64_t at = block + i / 4;
      const PhiloxBlock four = philox({static_cast<uint32_t>(at), static_cast<uint32_t>(at >> 32),
                                       static_cast<uint32_t>(counter_[1]), static_cast<uint32_t>(counter_[1] >> 32)},
                                      {static_cast<uint32_t>(key_[0]), static_cast<uint32_t>(key_[1])});
      std::memcpy(numbers_ + i, four.data(), sizeof four);
    }
    drawn_from_ = 4 * block;
    drawn_ = kDrawn;
  }
#endif
  static_assert(kDrawn >= 2 * kGroup && kDrawn <= kMost, "a group may begin within a block");

  uint64_t first_;
  HWY_ALIGN uint64_t counter_[2];  ///< of Philox, but for the block's number
  HWY_ALIGN uint64_t key_[2];      ///< its two words of 32 bits
  uint64_t drawn_from_ = 0;        ///< the element that numbers_ begin with
  size_t drawn_ = 0;               ///< how many there are
  HWY_ALIGN uint32_t numbers_[kMost];
};

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle above
