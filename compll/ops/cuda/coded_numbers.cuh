// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers by Elias' gamma code, and places in ascending order by Rice's (compll/codec/coded/elias.cc, rising.cc).
// In both a code is zeros, a one and some low bits. All threads write codes, at places that a sum of their lengths
// gives. A code begins where the one before ends: to read them each thread finds out for every bit of a word where codes
// that begin there lead to, and one thread follows the way from word to word.
#pragma once

#include "compll/ops/cuda/coding.cuh"

namespace casync::compll::cuda {

inline constexpr uint32_t kNowhere = 0xffffffff;
inline constexpr uint32_t kLongestRice = 24, kMostRice = 31;
inline constexpr uint32_t kRisingHead = 3;

/// So many zeros, a one, and the lowest bits of a number.
struct BitCode {
  uint32_t zeros, low_bits, low;

  COMPLL_BOTH uint32_t length() const { return zeros + 1 + low_bits; }
};

COMPLL_BOTH uint32_t lowest(uint32_t value, uint32_t bits) {
  return bits == 0 ? 0 : value & (0xffffffffu >> (32 - bits));
}
/// The number of bits of a number but the first one. `x` is not 0.
COMPLL_BOTH uint32_t bits_behind_first(uint64_t x) {
  uint32_t bits = 0;
#pragma unroll
  for (uint32_t by = 32; by != 0; by /= 2) {
    if (x >> by != 0) x >>= by, bits += by;
  }
  return bits;
}

COMPLL_BOTH BitCode elias_code(const CodedBlock& block, uint32_t element) {
  uint32_t x = element;
  if (block.coding == Coding::kEliasSigned) {
    const uint32_t above = 32 - block.bits;
    const int32_t value = static_cast<int32_t>(element << above) >> above;
    x = static_cast<uint32_t>(value) << 1 ^ static_cast<uint32_t>(value >> 31);
  }
  const uint64_t one_more = uint64_t{x} + 1;
  const uint32_t more = bits_behind_first(one_more);
  return {more, more, lowest(static_cast<uint32_t>(one_more), more)};
}

COMPLL_BOTH BitCode rice_code(uint32_t distance, uint32_t rice) {
  const uint32_t zeros = distance >> rice;
  if (zeros >= kLongestRice) return {kLongestRice, 32, distance};
  return {zeros, rice, lowest(distance, rice)};
}

/// Writes a code from bit `at` on, among zeros that other threads write to as well: no two write the same bit.
__device__ __forceinline__ void write_code(const BitCode& code, uint32_t at, uint32_t* words) {
  at += code.zeros;
  atomicAdd(words + at / 32, 1u << at % 32);
  if (code.low == 0) return;
  ++at;
  atomicAdd(words + at / 32, code.low << at % 32);
  const uint32_t here = 32 - at % 32;
  if (code.low_bits > here) atomicAdd(words + at / 32 + 1, code.low >> here);
}

/// Writes the codes of the thread's elements from `first` on behind `head` bytes, and returns the size; 0: it would not
/// be smaller than the elements are. Element i has the code `code_of(i)`.
template <class CodeOf>
__device__ __forceinline__ uint32_t write_codes(const CodedBlock& block, uint32_t first, uint32_t end, uint32_t head,
                                                const CodeOf& code_of, CodingShared& shared) {
  uint32_t own = 0;
  for (uint32_t i = first; i < end; ++i) own += code_of(i).length();
  const SumBefore<uint32_t> sum = sum_before(shared.of_warps, own);
  const uint32_t bytes = head + (sum.all + 7) / 8;
  if (bytes >= block.plain_bytes()) return 0;
  for (uint32_t w = threadIdx.x; w < (bytes + 3) / 4; w += kThreads) shared.code[w] = 0;
  __syncthreads();
  uint32_t at = 8 * head + sum.before;
  for (uint32_t i = first; i < end; ++i) {
    const BitCode code = code_of(i);
    write_code(code, at, shared.code);
    at += code.length();
  }
  __syncthreads();
  return bytes;
}

__device__ __forceinline__ void store_code(const CodingShared& shared, uint32_t bytes, unsigned char* to) {
  for (uint32_t w = threadIdx.x; w < (bytes + 3) / 4; w += kThreads) store_word(to + 4 * w, shared.code[w]);
}

/// Writes a block's code to `to`, which has room for the elements, and returns its size; 0: it would not be smaller.
__device__ inline uint32_t write_elias(const CodedBlock& block, unsigned char* to, CodingShared& shared) {
  load_elements(block, shared);
  const auto code_of = [&](uint32_t i) { return elias_code(block, shared.elements[without_conflict(i)]); };
  const uint32_t bytes = write_codes(block, block.begin(), block.end(), 0, code_of, shared);
  store_code(shared, bytes, to);
  return bytes;
}

/// The number of low bits with which distances of this mean take the fewest.
COMPLL_BOTH uint32_t rice_of(uint64_t sum, uint32_t count) {
  return count == 0 ? 0 : least(kMostRice, bits_behind_first((sum / count * 177 / 256) | 1));
}

__device__ inline uint32_t write_rising(const CodedBlock& block, unsigned char* to, CodingShared& shared) {
  load_elements(block, shared);
  const auto place = [&](uint32_t i) { return shared.elements[without_conflict(i)]; };
  uint32_t own = 0;
  for (uint32_t i = block.begin(); i < block.end(); ++i) own = place(i) != kNowhere ? i + 1 : own;
  const uint32_t count = greatest_of_block(shared, own);
  // The first place is no distance.
  const uint32_t first = block.begin() == 0 ? 1 : block.begin(), end = least(block.end(), count);
  uint64_t distances = 0;
  for (uint32_t i = first; i < end; ++i) distances += place(i) - place(i - 1) - 1;
  const uint32_t rice = rice_of(sum_before(shared.of_warps, distances).all, count == 0 ? 0 : count - 1);
  const uint32_t head = kRisingHead + (count == 0 ? 0 : 4);
  const auto code_of = [&](uint32_t i) { return rice_code(place(i) - place(i - 1) - 1, rice); };
  const uint32_t bytes = write_codes(block, first, end, head, code_of, shared);
  if (bytes == 0) return 0;
  if (threadIdx.x == 0) {
    auto* const code = reinterpret_cast<unsigned char*>(shared.code);
    code[0] = static_cast<unsigned char>(rice);
    store_pair(count, code + 1);
    for (uint32_t b = 0; count != 0 && b < 4; ++b) code[3 + b] = static_cast<unsigned char>(place(0) >> (8 * b));
  }
  __syncthreads();
  store_code(shared, bytes, to);
  return bytes;
}

/// The bits of a section's code, in words: what is behind the last one is zero.
class CodeWords {
 public:
  /// The code of `size` bytes. Words are read whole, none of which lies wholly outside.
  __device__ CodeWords(const unsigned char* code, uint32_t size) {
    const auto before = static_cast<uint32_t>(reinterpret_cast<uint64_t>(code) % 4);
    words_ = reinterpret_cast<const uint32_t*>(code - before);
    count_ = (before + size + 3) / 4;
    begin_ = 8 * before;
    end_ = begin_ + 8 * size;
  }
  __device__ uint32_t begin() const { return begin_; }  ///< in bits from the first word on
  __device__ uint32_t end() const { return end_; }
  __device__ uint32_t word(uint32_t i) const { return i < count_ ? words_[i] : 0; }

 private:
  const uint32_t* words_;
  uint32_t count_, begin_, end_;
};

/// A word and what codes that begin in it may reach.
struct OwnWords {
  uint64_t low;
  uint32_t high;

  /// 64 bits from bit `at` on, which is below 32.
  __device__ uint64_t from(uint32_t at) const { return at == 0 ? low : low >> at | uint64_t{high} << (64 - at); }
};

__device__ __forceinline__ uint32_t zeros_ahead(uint64_t bits) {
  const auto low = static_cast<int>(bits), high = static_cast<int>(bits >> 32);
  return static_cast<uint32_t>(low != 0 ? __ffs(low) - 1 : high != 0 ? 31 + __ffs(high) : 64);
}

/// The way from a bit to the end of its word: where the first code behind it begins, which is 0 to 64 bits further on,
/// and the number of codes up to there. kNoWay: behind so many codes there is none.
inline constexpr uint32_t kNoWay = 255, kNoStart = ~0u;
COMPLL_BOTH uint32_t way(uint32_t to, uint32_t codes) { return to | codes << 8; }

/// Finds the ways of the thread's word, from the last bit on.
template <class Format>
__device__ __forceinline__ void find_ways(const OwnWords& own, const Format& format, unsigned short* ways) {
#pragma unroll 4
  for (uint32_t bit = 32; bit-- != 0;) {
    const uint32_t zeros = zeros_ahead(own.from(bit));
    uint32_t found = way(kNoWay, 0);
    if (zeros <= format.most_zeros) {
      const uint32_t next = bit + zeros + 1 + format.low_bits(zeros);
      found = next >= 32 ? way(next - 32, 1) : ways[next * kThreads + threadIdx.x] + (1u << 8);
    }
    ways[bit * kThreads + threadIdx.x] = static_cast<unsigned short>(found);
  }
}

/// Follows the ways through the words of all threads, up to `codes` codes: notes the first code in each word, and its
/// number. One thread. False: they end too early.
__device__ inline bool follow_ways(uint32_t offset, uint32_t reached, uint32_t codes, CodingShared& shared) {
  bool good = true;
#pragma unroll 1
  for (uint32_t t = 0; t < kThreads; ++t) {
    if (!good || reached >= codes || offset >= 32) {
      shared.starts[t] = kNoStart;
      offset = offset >= 32 ? offset - 32 : offset;
      continue;
    }
    shared.starts[t] = way(offset, reached);
    const uint32_t found = shared.ways[offset * kThreads + t];
    offset = found & 0xff;
    reached += found >> 8;
    good = offset != kNoWay || reached >= codes;
  }
  shared.reached = reached;
  shared.offset = offset;
  return good;
}

/// Reads `codes` codes, of which all begin where the one before ends, and gives each to `format.take(i, zeros, low)`,
/// which returns false if it is none. All threads look at a word each, at every bit of it: so the way from code to code
/// takes a step a word. Returns true in all threads if that is the whole code, in every bit.
template <class Format>
__device__ __forceinline__ bool read_codes(const unsigned char* code, uint32_t size, uint32_t codes,
                                           const Format& format, CodingShared& shared) {
  if (codes == 0) return size == 0;
  const CodeWords words(code, size);
  uint32_t reached = 0, offset = words.begin();
  bool fault = false;
#pragma unroll 1
  for (uint32_t first = 0; reached < codes; first += kThreads) {
    if (32 * first >= words.end()) return false;
    const uint32_t at = first + threadIdx.x;
    const OwnWords own = {words.word(at) | uint64_t{words.word(at + 1)} << 32, words.word(at + 2)};
    find_ways(own, format, shared.ways);
    __syncthreads();
    const bool ends = threadIdx.x == 0 && !follow_ways(offset, reached, codes, shared);
    if (__syncthreads_or(ends)) return false;
    const uint32_t start = shared.starts[threadIdx.x];
    uint32_t bit = start == kNoStart ? 32 : start & 0xff;
#pragma unroll 1
    for (uint32_t i = start >> 8; bit < 32 && i < codes; ++i) {
      const uint64_t bits = own.from(bit);
      const uint32_t zeros = zeros_ahead(bits), low_bits = format.low_bits(zeros);
      bit += zeros + 1;
      const uint64_t behind = bit < 32 ? own.from(bit) : (own.low >> 32 | uint64_t{own.high} << 32) >> (bit - 32);
      fault = fault || !format.take(i, zeros, lowest(static_cast<uint32_t>(behind), low_bits));
      bit += low_bits;
      if (i + 1 != codes) continue;
      const uint32_t end = 32 * at + bit, left = words.end() - end;
      fault = fault || end > words.end() || left >= 8 || code[size - 1] >> (8 - left) != 0;
    }
    reached = shared.reached;
    offset = shared.offset;
    __syncthreads();
  }
  return !__syncthreads_or(fault);
}

struct EliasFormat {
  const CodedBlock& block;
  CodingShared& shared;
  uint32_t most_zeros;

  __device__ uint32_t low_bits(uint32_t zeros) const { return zeros; }
  __device__ bool take(uint32_t i, uint32_t zeros, uint32_t low) const {
    const uint64_t one_more = uint64_t{1} << zeros | low;
    const auto x = static_cast<uint32_t>(one_more - 1);
    shared.elements[without_conflict(i)] = block.coding == Coding::kElias ? x : x >> 1 ^ (0 - (x & 1));
    return one_more <= uint64_t{1} << block.bits;
  }
};

/// Distances of the places behind the first one.
struct RiceFormat {
  CodingShared& shared;
  uint32_t rice, most_zeros;

  __device__ uint32_t low_bits(uint32_t zeros) const { return zeros == kLongestRice ? 32 : rice; }
  __device__ bool take(uint32_t i, uint32_t zeros, uint32_t low) const {
    const uint64_t distance = zeros == kLongestRice ? low : uint64_t{zeros} << rice | low;
    shared.elements[without_conflict(i + 1)] = static_cast<uint32_t>(distance) + 1;
    return distance <= kNowhere;
  }
};

/// Reads a block's code, and returns false if it is none: then the elements may have any values.
__device__ inline bool read_elias(const CodedBlock& block, const unsigned char* code, uint32_t size,
                                  CodingShared& shared) {
  if (!read_codes(code, size, block.count, EliasFormat{block, shared, block.bits}, shared)) return false;
  store_elements(block, shared);
  return true;
}

__device__ inline bool read_rising(const CodedBlock& block, const unsigned char* code, uint32_t size,
                                   CodingShared& shared) {
  if (size < kRisingHead) return false;
  const uint32_t rice = code[0], count = load_pair(code + 1), head = kRisingHead + (count == 0 ? 0 : 4);
  if (rice > kMostRice || count > block.count || size < head || (count == 0 && rice != 0)) return false;
  const RiceFormat format{shared, rice, kLongestRice};
  if (!read_codes(code + head, size - head, count == 0 ? 0 : count - 1, format, shared)) return false;
  if (count != 0 && threadIdx.x == 0) shared.elements[0] = load_pair(code + 3) | load_pair(code + 5) << 16;
  __syncthreads();
  // Places are sums of distances, modulo 2^32.
  const uint32_t end = least(block.end(), count);
  uint32_t own = 0;
  for (uint32_t i = block.begin(); i < end; ++i) own += shared.elements[without_conflict(i)];
  uint32_t place = sum_before(shared.of_warps, own).before;
  for (uint32_t i = block.begin(); i < block.end(); ++i) {
    uint32_t& element = shared.elements[without_conflict(i)];
    if (i < count) place += element;
    element = i < count ? place : kNowhere;
  }
  store_elements(block, shared);
  return true;
}

}  // namespace casync::compll::cuda
