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

/// The random numbers of one place in a program for the elements from `first` on, drawn for a group at a time.
class Random {
 public:
  HWY_INLINE Random(const RandomStream& stream, uint64_t first, uint32_t purpose)
      : first_(stream.first + first), step_(stream.step), purpose_(purpose) {
    const std::array<std::uint32_t, 2> key = philox_key(stream);
    for (uint32_t round = 0; round < kPhiloxRounds; ++round) {
      keys_[round][0] = key[0] + round * 0x9e3779b9;
      keys_[round][1] = key[1] + round * 0xbb67ae85;
    }
    begin_at(first_);
  }

  /// The bits of the elements from `i` on; fastest if `i` grows from call to call.
  HWY_INLINE Uint bits(size_t i) {
    const uint64_t at = first_ + i;
    if (at - from_ > ready_) draw_more(at);
    Uint r;
    COMPLL_EACH r.v[k] = hn::LoadU(U32(), numbers_ + (at - from_) + k * kLanes);
    return r;
  }
  HWY_INLINE Float uniform(size_t i) { return to_float(as_int(shift_right<8>(bits(i)))) * Float(0x1p-24f); }

 private:
  HWY_INLINE void begin_at(uint64_t at) {
    from_ = at / kRandomGroup * kRandomGroup;
    ready_ = kRandomGroup - kGroup;
    draw(from_, numbers_);
  }
  /// Draws the next group. If `at` continues the numbers at hand, keeps the last sixteen, which the caller may need.
  /// Out of line: it is rare, and leaves the registers to the caller.
  HWY_NOINLINE void draw_more(uint64_t at) {
    if (at - (from_ + ready_) > kGroup) begin_at(at);
    if (at - from_ <= ready_) return;
    const uint64_t end = from_ + ready_ + kGroup;
    std::memcpy(numbers_, numbers_ + ready_, kGroup * sizeof(uint32_t));
    from_ = end - kGroup;
    ready_ = kRandomGroup;
    draw(end, numbers_ + kGroup);
  }

#if HWY_TARGET != HWY_SCALAR
  using U64 = hn::Repartition<uint64_t, U32>;
  using Words = hn::Vec<U64>;  // a word of one block in each lane's lower half; the upper half has any bits
  static constexpr size_t kBlocks = kLanes / 2;
  // Vectors of each word: the rounds of a block follow from each other, and only others can be computed meanwhile.
  static constexpr size_t kTogether = kBlocks < 8 ? 2 : 1;

  struct Product {
    Words all, high;
  };
  static HWY_INLINE Product product(Words word, uint32_t factor) {
    const Words all = hn::MulEven(hn::BitCast(U32(), word), hn::Set(U32(), factor));
    return {all, hn::ShiftRight<32>(all)};
  }

  /// The numbers of the group that begins with element `at`.
  HWY_NOINLINE void draw(uint64_t at, uint32_t* to) const {
    const uint64_t block = at / kRandomGroup * 8;
    for (size_t v = 0; v < 8 / kBlocks; v += kTogether) {
      Words words[4][kTogether];
      for (size_t t = 0; t < kTogether; ++t) begin_rounds(block + (v + t) * kBlocks, words, t);
      for (size_t round = 2; round < kPhiloxRounds; ++round) {
        const Words key0 = hn::Set(U64(), keys_[round][0]), key1 = hn::Set(U64(), keys_[round][1]);
        for (size_t t = 0; t < kTogether; ++t) {
          const Product a = product(words[0][t], kFactor0), b = product(words[2][t], kFactor1);
          words[0][t] = hn::Xor3(b.high, words[1][t], key0);
          words[2][t] = hn::Xor3(a.high, words[3][t], key1);
          words[1][t] = b.all;
          words[3][t] = a.all;
        }
      }
      for (size_t t = 0; t < kTogether; ++t) store(words, t, to + 4 * kBlocks * (v + t));
    }
  }

  /// The first two rounds. The words that are alike in all blocks stay so until the second one.
  HWY_INLINE void begin_rounds(uint64_t block, Words (&words)[4][kTogether], size_t t) const {
    const uint64_t same = uint64_t{kFactor1} * step_;
    const uint32_t high = static_cast<uint32_t>(same >> 32) ^ static_cast<uint32_t>(block >> 32) ^ keys_[0][0];
    const uint64_t next = uint64_t{kFactor0} * high;
    const Product a = product(hn::Add(hn::Set(U64(), block), hn::Load(U64(), kOrder)), kFactor0);
    const Product b = product(hn::Xor(a.high, hn::Set(U64(), purpose_ ^ keys_[0][1])), kFactor1);
    words[0][t] = hn::Xor(b.high, hn::Set(U64(), static_cast<uint32_t>(same) ^ keys_[1][0]));
    words[1][t] = b.all;
    words[2][t] = hn::Xor(a.all, hn::Set(U64(), next >> 32 ^ keys_[1][1]));
    words[3][t] = hn::Set(U64(), next);
  }

  /// Stores the words of one block side by side, then those of the next; each further turn adds its next word to each.
  static HWY_INLINE void store(const Words (&words)[4][kTogether], size_t t, uint32_t* to) {
    const auto pair = [](Words even, Words odd) HWY_ATTR {
      return hn::BitCast(U64(), hn::OddEven(hn::BitCast(U32(), hn::ShiftLeft<32>(odd)), hn::BitCast(U32(), even)));
    };
    const Words low = pair(words[0][t], words[1][t]), high = pair(words[2][t], words[3][t]);
    VecU first = hn::BitCast(U32(), hn::InterleaveLower(U64(), low, high));
    VecU second = hn::BitCast(U32(), hn::InterleaveUpper(U64(), low, high));
    const VecU behind_first = hn::Shuffle0321(first), behind_second = hn::Shuffle0321(second);
    for (size_t turn = 0; turn < kRandomTurns; ++turn) {
      hn::Store(first, U32(), to);
      hn::Store(second, U32(), to + kLanes);
      first = hn::Add(first, behind_first);
      second = hn::Add(second, behind_second);
      to += kRandomGroup / kRandomTurns;
    }
  }

  static constexpr uint32_t kFactor0 = 0xd2511f53, kFactor1 = 0xcd9e8d57;
  /// The block of each lane, such that interleaving puts the blocks in order.
  HWY_ALIGN static constexpr uint64_t kOrder[8] = {0, kBlocks / 2,     1, kBlocks / 2 + 1,
                                                   2, kBlocks / 2 + 2, 3, kBlocks / 2 + 3};
#else
  void draw(uint64_t at, uint32_t* to) const {
    constexpr size_t kEach = kRandomGroup / kRandomTurns;
    for (size_t i = 0; i < kEach; i += 4) {
      const uint64_t block = at / kRandomGroup * 8 + i / 4;
      const PhiloxBlock words =
          philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), step_, purpose_},
                 {keys_[0][0], keys_[0][1]});
      for (size_t turn = 0; turn < kRandomTurns; ++turn) {
        for (size_t k = 0; k < 4; ++k) {
          to[turn * kEach + i + k] = words[k] + static_cast<uint32_t>(turn) * words[(k + 1) % 4];
        }
      }
    }
  }
#endif

  uint64_t first_;
  uint32_t step_, purpose_;
  uint32_t keys_[kPhiloxRounds][2];
  uint64_t from_ = 0;   ///< the element that numbers_ begin with
  uint64_t ready_ = 0;  ///< the largest distance from it at which sixteen numbers may begin
  HWY_ALIGN uint32_t numbers_[kGroup + kRandomGroup];
};

}  // namespace casync::compll::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle above
