// SPDX-License-Identifier: Apache-2.0
//
// Sequences of bytes in which few values are frequent, and elements as planes of them (compll/codec/coded/packed.cc,
// frequent_bytes.cc). Each of the codes has a fixed width, so all threads write and read their own 32. Bytes that
// escape are a sequence of their own: a sum over the threads says where each one has its place.
#pragma once

#include "compll/ops/cuda/coding.cuh"

namespace casync::compll::cuda {

inline constexpr uint32_t kSameBytes = 0, kBytesAsTheyAre = 8, kMostWidth = 4;
inline constexpr uint32_t kSamplePiece = 128, kSamplePieces = 4, kSample = kSamplePiece * kSamplePieces;
static_assert(kSamplePiece == kThreads);

COMPLL_BOTH uint32_t escape_of(uint32_t width) { return (1u << width) - 1; }
COMPLL_BOTH uint32_t sequence_head(uint32_t width) { return 1 + escape_of(width) + 2; }
COMPLL_BOTH uint32_t bytes_of_codes(uint32_t width, uint32_t count) { return (count * width + 7) / 8; }

/// The exponent of a float as its uppermost byte, and the reverse.
COMPLL_BOTH uint32_t exponent_first(uint32_t x) { return x << 1 >> 24 << 24 | x >> 31 << 23 | (x & 0x7fffff); }
COMPLL_BOTH uint32_t sign_first(uint32_t x) { return (x >> 23 & 1) << 31 | x >> 24 << 23 | (x & 0x7fffff); }

/// Lists the values that are frequent among `count` bytes, the most frequent ones first, and returns their number.
__device__ inline uint32_t list_frequent(const uint32_t* times, uint32_t count, CodingShared& shared) {
  if (threadIdx.x == 0) shared.word = 0;
  __syncthreads();
#pragma unroll 1
  for (uint32_t value = threadIdx.x; value < 256; value += kThreads) {
    if (times[value] != 0 && times[value] * 170 >= count) {
      shared.found[atomicAdd(&shared.word, 1u)] = times[value] << 8 | (255 - value);
    }
  }
  __syncthreads();
  const uint32_t found = shared.word;
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i < found; i += kThreads) {
    uint32_t rank = 0;
    for (uint32_t k = 0; k < found; ++k) rank += shared.found[k] > shared.found[i] ? 1 : 0;
    if (rank < kMostListed) shared.listed[rank] = shared.found[i];
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    shared.before[0] = 0;
    for (uint32_t i = 0; i < kMostListed; ++i) {
      shared.before[i + 1] = shared.before[i] + (i < found ? shared.listed[i] >> 8 : 0);
    }
  }
  __syncthreads();
  return found;
}

/// The form with the fewest bytes for `count` bytes that have none of the first `known` values. One thread.
template <uint32_t kDepth>
__device__ inline PlaneForm best_form(const CodingShared& shared, uint32_t found, uint32_t known, uint32_t count) {
  PlaneForm best;
#pragma unroll
  for (uint32_t d = 0; d < kMostNested; ++d) best.widths[d] = kBytesAsTheyAre;
  best.bytes = 1 + count;
  if (known < found && shared.listed[known] >> 8 == count) {
    best.widths[kDepth] = kSameBytes;
    best.bytes = 2;
    return best;
  }
  if constexpr (kDepth + 1 < kMostNested) {
#pragma unroll 1
    for (uint32_t width = 1; width <= kMostWidth; ++width) {
      // A wider code than this one would list no more values.
      if (width > 1 && known + escape_of(width - 1) >= found) break;
      if (known >= found) break;
      const uint32_t upto = least(found, known + escape_of(width));
      const uint32_t left = count - (shared.before[upto] - shared.before[known]);
      PlaneForm form;
#pragma unroll
      for (uint32_t d = 0; d < kMostNested; ++d) form.widths[d] = kBytesAsTheyAre;
      form.bytes = 0;
      if (left != 0) form = best_form<kDepth + 1>(shared, found, upto, left);
      form.widths[kDepth] = width;
      form.bytes += sequence_head(width) + bytes_of_codes(width, count);
      if (form.bytes < best.bytes) best = form;
    }
  }
  return best;
}

/// Notes the form of the first `count` bytes of shared.planes[0], at least one. All threads.
__device__ inline void find_form(uint32_t count, PlaneForm& form, CodingShared& shared) {
  const unsigned char* const bytes = shared.planes[0];
  for (uint32_t value = threadIdx.x; value < 256; value += kThreads) shared.times[value] = shared.sampled[value] = 0;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < count; i += kThreads) atomicAdd(&shared.times[bytes[i]], 1u);
  if (count > kSample) {
    for (uint32_t k = 0; k < kSamplePieces; ++k) {
      atomicAdd(&shared.sampled[bytes[k * (count / kSamplePieces) + threadIdx.x]], 1u);
    }
  }
  __syncthreads();
  bool same = false;
  for (uint32_t value = threadIdx.x; value < 256; value += kThreads) same = same || shared.times[value] == count;
  const bool all_same = __syncthreads_or(same);
  bool noise = false;
  if (!all_same && count > kSample) {
    // Noise is most of what there is: a look at some of it is enough.
    const uint32_t found = list_frequent(shared.sampled, kSample, shared);
    const bool is_noise = threadIdx.x == 0 && best_form<0>(shared, found, 0, kSample).widths[0] == kBytesAsTheyAre;
    noise = __syncthreads_or(is_noise);
  }
  uint32_t found = 0;
  if (!all_same && !noise) found = list_frequent(shared.times, count, shared);
  if (threadIdx.x == 0) {
    PlaneForm made = best_form<0>(shared, found, 0, count);
    if (all_same) made.widths[0] = kSameBytes, made.bytes = 2;
    made.listed = found;
    for (uint32_t i = 0; i < kMostListed && i < found; ++i) {
      made.values[i] = static_cast<unsigned char>(255 - (shared.listed[i] & 255));
    }
    form = made;
  }
  __syncthreads();
}

/// Writes the codes of one sequence to `out`, and the bytes that escape to the next plane; returns their number.
__device__ inline uint32_t write_sequence(const PlaneForm& form, uint32_t depth, uint32_t known, uint32_t count,
                                          unsigned char* out, CodingShared& shared) {
  const uint32_t width = form.widths[depth], escape = escape_of(width);
  const unsigned char* const bytes = shared.planes[depth];
  for (uint32_t value = threadIdx.x; value < 256; value += kThreads) {
    shared.code_of[value] = static_cast<unsigned char>(escape);
  }
  __syncthreads();
  if (threadIdx.x < escape) {
    const bool any = known + threadIdx.x < form.listed;
    const unsigned char value = any ? form.values[known + threadIdx.x] : 0;
    out[1 + threadIdx.x] = value;
    if (any) shared.code_of[value] = static_cast<unsigned char>(threadIdx.x);
  }
  __syncthreads();
  const uint32_t first = least(threadIdx.x * kOwnElements, count), end = least(first + kOwnElements, count);
  uint32_t own = 0;
  for (uint32_t i = first; i < end; ++i) own += shared.code_of[bytes[i]] == escape ? 1 : 0;
  const SumBefore<uint32_t> escapes = sum_before(shared.of_warps, own);
  unsigned char* escaped = shared.planes[depth + 1] + escapes.before;
  unsigned char* codes = out + sequence_head(width) + first * width / 8;
  uint32_t word = 0, held = 0;
  for (uint32_t i = first; i < end; ++i) {
    const uint32_t code = shared.code_of[bytes[i]];
    if (code == escape) *escaped++ = bytes[i];
    word |= code << held;
    held += width;
    if (held < 8) continue;
    *codes++ = static_cast<unsigned char>(word);
    word >>= 8;
    held -= 8;
  }
  if (held != 0) *codes = static_cast<unsigned char>(word);  // only the last one's
  if (threadIdx.x == 0) store_pair(escapes.all, out + 1 + escape);
  __syncthreads();
  return escapes.all;
}

/// Writes the first `count` bytes of shared.planes[0] in this form to shared.out.
__device__ inline void write_frequent(const PlaneForm& form, uint32_t count, CodingShared& shared) {
  uint32_t at = 0, known = 0;
#pragma unroll 1
  for (uint32_t depth = 0; count != 0; ++depth) {
    const uint32_t width = form.widths[depth];
    unsigned char* const out = shared.out + at;
    if (threadIdx.x == 0) out[0] = static_cast<unsigned char>(width);
    if (width == kSameBytes) {
      if (threadIdx.x == 0) out[1] = shared.planes[depth][0];
      break;
    }
    if (width == kBytesAsTheyAre) {
      for (uint32_t i = threadIdx.x; i < count; i += kThreads) out[1 + i] = shared.planes[depth][i];
      break;
    }
    const uint32_t escapes = write_sequence(form, depth, known, count, out, shared);
    at += sequence_head(width) + bytes_of_codes(width, count);
    known += escape_of(width);
    count = escapes;
  }
  __syncthreads();
}

/// Byte `plane` of an element. Of 64 bits elements are read where they are, all others from shared memory.
__device__ __forceinline__ unsigned char byte_of(const CodedBlock& block, uint32_t i, uint32_t plane,
                                                 const CodingShared& shared) {
  if (block.bits == 64) return block.plain[8 * i + plane];
  return static_cast<unsigned char>(shared.elements[without_conflict(i)] >> (8 * plane));
}

__device__ __forceinline__ void take_plane(const CodedBlock& block, uint32_t count, uint32_t plane,
                                           CodingShared& shared) {
  for (uint32_t i = threadIdx.x; i < count; i += kThreads) shared.planes[0][i] = byte_of(block, i, plane, shared);
  __syncthreads();
}

/// Writes a block's code to `to`, which has room for the elements, and returns its size; 0: it would not be smaller.
__device__ inline uint32_t write_packed(const CodedBlock& block, unsigned char* to, CodingShared& shared) {
  if (block.bits != 64) load_elements(block, shared);
  uint32_t own = 0;
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i < block.count; i += kThreads) {
    uint32_t any = 0;
    if (block.bits == 64) {
      for (uint32_t b = 0; b < 8; ++b) any |= block.plain[8 * i + b];
    } else {
      uint32_t& element = shared.elements[without_conflict(i)];
      any = element;
      if (block.coding == Coding::kPackedFloats) element = exponent_first(element);
    }
    if (any != 0) own = i + 1;
  }
  const uint32_t count = greatest_of_block(shared, own);
  uint32_t bytes = 2;
#pragma unroll 1
  for (uint32_t p = 0; p < block.planes() && count != 0; ++p) {
    take_plane(block, count, p, shared);
    find_form(count, shared.forms[p], shared);
    bytes += shared.forms[p].bytes;
  }
  if (bytes >= block.plain_bytes()) return 0;
  if (threadIdx.x == 0) store_pair(count, to);
  uint32_t at = 2;
#pragma unroll 1
  for (uint32_t p = 0; p < block.planes() && count != 0; ++p) {
    take_plane(block, count, p, shared);
    const PlaneForm& form = shared.forms[p];
    write_frequent(form, count, shared);
    for (uint32_t i = threadIdx.x; i < form.bytes; i += kThreads) to[at + i] = shared.out[i];
    at += form.bytes;
    __syncthreads();
  }
  return bytes;
}

/// A sequence with codes, or the last one without.
struct Sequence {
  uint32_t width, count;
  const unsigned char *table, *codes;
  uint32_t escapes_before;  ///< the thread's own codes

  __device__ uint32_t code(uint32_t i) const {
    const uint32_t at = i * width, shift = at % 8;
    uint32_t word = codes[at / 8];
    if (shift + width > 8) word |= uint32_t{codes[at / 8 + 1]} << 8;
    return word >> shift & escape_of(width);
  }
};

/// Returns true in all threads if a byte is above `most`.
__device__ __forceinline__ bool any_above(const unsigned char* bytes, uint32_t count, uint32_t most) {
  if (most == 255) return false;
  bool above = false;
  for (uint32_t i = threadIdx.x; i < count; i += kThreads) above = above || bytes[i] > most;
  return __syncthreads_or(above);
}

/// Checks a sequence with codes of which `size` bytes are there at most, and returns the bytes up to its end; 0: it is
/// none. Sets the number of bytes that escape.
__device__ inline uint32_t check_codes(const unsigned char* from, uint32_t size, uint32_t most, Sequence& sequence,
                                       uint32_t* escapes, CodingShared& shared) {
  const uint32_t width = sequence.width, count = sequence.count, escape = escape_of(width);
  const uint32_t end = sequence_head(width) + bytes_of_codes(width, count);
  if (size < end) return 0;
  sequence.table = from + 1;
  sequence.codes = from + sequence_head(width);
  *escapes = load_pair(from + 1 + escape);
  if (any_above(sequence.table, escape, most)) return 0;
  const uint32_t used = count * width % 8;
  if (used != 0 && from[end - 1] >> used != 0) return 0;
  const uint32_t first = least(threadIdx.x * kOwnElements, count), last = least(first + kOwnElements, count);
  uint32_t own = 0;
  for (uint32_t i = first; i < last; ++i) own += sequence.code(i) == escape ? 1 : 0;
  const SumBefore<uint32_t> sum = sum_before(shared.of_warps, own);
  sequence.escapes_before = sum.before;
  return sum.all == *escapes ? end : 0;
}

/// Reads the thread's own bytes of plane `depth`, those that escape from the next plane.
__device__ inline void read_codes(const Sequence& sequence, uint32_t depth, CodingShared& shared) {
  const uint32_t escape = escape_of(sequence.width);
  const uint32_t first = least(threadIdx.x * kOwnElements, sequence.count);
  const uint32_t end = least(first + kOwnElements, sequence.count);
  uint32_t next = sequence.escapes_before;
  for (uint32_t i = first; i < end; ++i) {
    const uint32_t code = sequence.code(i);
    shared.planes[depth][i] = code == escape ? shared.planes[depth + 1][next++] : sequence.table[code];
  }
}

/// Reads a sequence of `count` bytes, none of which is above `most`, into shared.planes[0]. Returns its size; 0: there
/// is none in `size` bytes.
__device__ inline uint32_t read_frequent(const unsigned char* from, uint32_t size, uint32_t count, uint32_t most,
                                         CodingShared& shared) {
  Sequence sequences[kMostNested - 1];
  uint32_t depth = 0, at = 0;
#pragma unroll 1
  while (count != 0) {
    const unsigned char* const here = from + at;
    const uint32_t left = size - at;
    if (left < 2) return 0;
    const uint32_t width = here[0];
    unsigned char* const bytes = shared.planes[depth];
    if (width == kSameBytes) {
      if (here[1] > most) return 0;
      for (uint32_t i = threadIdx.x; i < count; i += kThreads) bytes[i] = here[1];
      at += 2;
      break;
    }
    if (width == kBytesAsTheyAre) {
      if (left < 1 + count || any_above(here + 1, count, most)) return 0;
      for (uint32_t i = threadIdx.x; i < count; i += kThreads) bytes[i] = here[1 + i];
      at += 1 + count;
      break;
    }
    if (width > kMostWidth || depth == kMostNested - 1) return 0;
    sequences[depth].width = width;
    sequences[depth].count = count;
    const uint32_t end = check_codes(here, left, most, sequences[depth], &count, shared);
    if (end == 0) return 0;
    at += end;
    ++depth;
  }
  __syncthreads();
#pragma unroll 1
  while (depth-- != 0) {
    read_codes(sequences[depth], depth, shared);
    __syncthreads();
  }
  return at;
}

/// Reads a block's code, and returns false if it is none: then the elements may have any values.
__device__ inline bool read_packed(const CodedBlock& block, const unsigned char* code, uint32_t size,
                                   CodingShared& shared) {
  if (size < 2) return false;
  const uint32_t count = load_pair(code);
  if (count > block.count) return false;
  uint32_t at = 2;
#pragma unroll 1
  for (uint32_t p = 0; p < block.planes(); ++p) {
    const uint32_t used = block.bits - 8 * p, most = used >= 8 ? 255 : (1u << used) - 1;
    if (count != 0) {
      const uint32_t bytes = read_frequent(code + at, size - at, count, most, shared);
      if (bytes == 0) return false;
      at += bytes;
    }
    for (uint32_t i = threadIdx.x; i < block.count; i += kThreads) {
      const uint32_t byte = i < count ? shared.planes[0][i] : 0;
      if (block.bits == 64) {
        block.plain[8 * i + p] = static_cast<unsigned char>(byte);
      } else {
        uint32_t& element = shared.elements[without_conflict(i)];
        element = (p == 0 ? 0 : element) | byte << (8 * p);
      }
    }
    __syncthreads();
  }
  if (at != size) return false;
  if (block.bits == 64) return true;
  if (block.coding == Coding::kPackedFloats) {
    for (uint32_t i = threadIdx.x; i < block.count; i += kThreads) {
      uint32_t& element = shared.elements[without_conflict(i)];
      element = sign_first(element);
    }
  }
  store_elements(block, shared);
  return true;
}

}  // namespace casync::compll::cuda
