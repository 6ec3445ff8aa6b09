// SPDX-License-Identifier: Apache-2.0
//
// The part that the codings of sections share (compll/codec/coded): a block of threads takes a block of 4096 elements,
// a thread 32 neighbours. The bytes are those of the host's coding.
#pragma once

#include "compll/ops/coding.h"
#include "compll/ops/cuda/block_sums.cuh"
#include "compll/ops/cuda/coding_launch.h"
#include "compll/ops/cuda/program.cuh"

namespace casync::compll::cuda {

/// Elements of a block that one thread has.
inline constexpr uint32_t kOwnElements = kCodedElements / kThreads;
/// The most byte planes of an element.
inline constexpr uint32_t kMostPlanes = 8;
/// Values of a byte that a sequence and those in it may list, and one more.
inline constexpr uint32_t kMostListed = 32;
/// Sequences in a sequence of bytes, with itself.
inline constexpr uint32_t kMostNested = 3;

/// Returns where an element lies, such that neighbours of several threads are in different banks.
COMPLL_BOTH uint32_t without_conflict(uint32_t i) { return i + i / kLanes; }

/// The form of one plane of bytes: compll/codec/coded/frequent_bytes.h.
struct PlaneForm {
  uint32_t widths[kMostNested];
  uint32_t bytes;               ///< of the whole sequence
  uint32_t listed;              ///< values that are frequent
  unsigned char values[kMostListed];  ///< the first of them
};

/// The shared memory of a block of threads that codes.
struct CodingShared {
  uint64_t of_warps[kWarps];
  uint32_t word;
  uint32_t elements[kCodedElements + kCodedElements / kLanes];
  union {
    uint32_t code[kCodedElements + 2];
    struct {
      unsigned short ways[32 * kThreads];  ///< from each bit of a thread's word: coded_numbers.cuh
      uint32_t starts[kThreads];           ///< the first code in it
      uint32_t reached, offset;            ///< codes up to the end of all words, and where the next one begins
    };
    struct {
      unsigned char planes[kMostNested][kCodedElements];  ///< a plane's bytes, those of them that escape, and theirs
      unsigned char out[kCodedElements + 4];
      uint32_t times[256], sampled[256], found[256];
      uint32_t listed[kMostListed], before[kMostListed + 1];  ///< the most frequent values, and bytes of those before
      unsigned char code_of[256];
      PlaneForm forms[kMostPlanes];
    };
  };
};
static_assert(sizeof(CodingShared) <= kCodingSharedBytes);

__device__ inline CodingShared& coding_shared() { return *reinterpret_cast<CodingShared*>(shared_memory()); }

/// The greatest of all threads.
__device__ __forceinline__ uint32_t greatest_of_block(CodingShared& shared, uint32_t own) {
  const uint32_t of_warp = greatest_of_warp(own);
  __syncthreads();
  if (threadIdx.x % kLanes == 0) shared.of_warps[threadIdx.x / kLanes] = of_warp;
  __syncthreads();
  uint32_t most = 0;
#pragma unroll
  for (uint32_t w = 0; w < kWarps; ++w) {
    most = most < shared.of_warps[w] ? static_cast<uint32_t>(shared.of_warps[w]) : most;
  }
  return most;
}

/// A block of a section, and its elements without coding, which begin at a multiple of 16 bytes.
struct CodedBlock {
  Coding coding;
  uint32_t bits, count;
  unsigned char* plain;

  COMPLL_BOTH uint32_t plain_bytes() const { return (count * bits + 7) / 8; }
  COMPLL_BOTH uint32_t planes() const { return (bits + 7) / 8; }
  /// The thread's own elements.
  __device__ uint32_t begin() const { return least(threadIdx.x * kOwnElements, count); }
  __device__ uint32_t end() const { return least((threadIdx.x + 1) * kOwnElements, count); }
};

/// An element of at most 32 bits without coding.
__device__ __forceinline__ uint32_t load_plain(const CodedBlock& block, uint32_t i) {
  if (block.bits == 32) return load_word<uint32_t>(block.plain + 4 * i);
  if (block.bits == 8) return block.plain[i];
  const uint32_t position = i * block.bits, shift = position % 8;
  const Packed all = load_bytes(block.plain + position / 8, (shift + block.bits + 7) / 8);
  return static_cast<uint32_t>(all.low >> shift) & (0xffffffffu >> (32 - block.bits));
}

/// Brings all elements of at most 32 bits to shared memory.
__device__ __forceinline__ void load_elements(const CodedBlock& block, CodingShared& shared) {
#pragma unroll 4
  for (uint32_t i = threadIdx.x; i < block.count; i += kThreads) {
    shared.elements[without_conflict(i)] = load_plain(block, i);
  }
  __syncthreads();
}

/// The reverse. Writes plain_bytes() bytes and no more.
__device__ __forceinline__ void store_elements(const CodedBlock& block, const CodingShared& shared) {
  __syncthreads();
  if (block.bits == 32) {
    for (uint32_t i = threadIdx.x; i < block.count; i += kThreads) {
      store_word(block.plain + 4 * i, shared.elements[without_conflict(i)]);
    }
    return;
  }
  const uint32_t mask = 0xffffffffu >> (32 - block.bits), bytes = block.plain_bytes();
#pragma unroll 1
  for (uint32_t b = threadIdx.x; b < bytes; b += kThreads) {
    uint32_t byte = 0;
    for (uint32_t i = 8 * b / block.bits; i < block.count && 8 * b + 8 > i * block.bits; ++i) {
      const uint64_t element = shared.elements[without_conflict(i)] & mask;
      const uint32_t at = i * block.bits;
      byte |= static_cast<uint32_t>(at < 8 * b ? element >> (8 * b - at) : element << (at - 8 * b));
    }
    block.plain[b] = static_cast<unsigned char>(byte);
  }
}

/// A number of two bytes at any address.
__device__ __forceinline__ uint32_t load_pair(const unsigned char* at) { return at[0] | uint32_t{at[1]} << 8; }
__device__ __forceinline__ void store_pair(uint32_t value, unsigned char* at) {
  at[0] = static_cast<unsigned char>(value);
  at[1] = static_cast<unsigned char>(value >> 8);
}

/// Copies bytes that begin at a multiple of 4 bytes to any address, in whole words there: it may be memory of the host,
/// to which a link carries few large writes better than many small ones. Up to 3 bytes behind `from` are read.
__device__ __forceinline__ void copy_to_any(const unsigned char* from, uint32_t bytes, unsigned char* to) {
  const uint32_t ahead = least(static_cast<uint32_t>((0 - reinterpret_cast<uint64_t>(to)) % 4), bytes);
  const uint32_t words = (bytes - ahead) / 4, shift = 8 * ahead, rest = ahead + 4 * words;
  const auto* const in = reinterpret_cast<const uint32_t*>(from);
  if (threadIdx.x < ahead) to[threadIdx.x] = from[threadIdx.x];
#pragma unroll 4
  for (uint32_t w = threadIdx.x; w < words; w += kThreads) {
    const uint32_t word = shift == 0 ? in[w] : in[w] >> shift | in[w + 1] << (32 - shift);
    store_word(to + ahead + 4 * w, word);
  }
  if (threadIdx.x < bytes - rest) to[rest + threadIdx.x] = from[rest + threadIdx.x];
}

}  // namespace casync::compll::cuda
