// SPDX-License-Identifier: Apache-2.0
//
// The kernels that code payloads whose sections other kernels make and read without coding (CodingKernels).
// A block of threads takes a block of 4096 elements. The last one of a payload that has coded its block adds up the
// sizes of all, so that no launch waits for another one; the payload is then written by those blocks, where they are.
#pragma once

#include "compll/ops/cuda/coded_bytes.cuh"
#include "compll/ops/cuda/coded_numbers.cuh"

namespace casync::compll::cuda {

/// The place of a block or piece of a payload that is no payload.
inline constexpr uint64_t kNoBlock = ~0ull;

/// The bit of a coding among those that a program uses: code for the others is left out.
COMPLL_BOTH constexpr uint32_t coding_bit(Coding coding) { return 1u << static_cast<uint32_t>(coding); }
inline constexpr uint32_t kPackings = coding_bit(Coding::kPacked) | coding_bit(Coding::kPackedFloats);
inline constexpr uint32_t kEliases = coding_bit(Coding::kElias) | coding_bit(Coding::kEliasSigned);

/// Writes a block's code to `to`, and returns its size; 0: it would not be smaller than the elements.
template <uint32_t kCodings>
__device__ __forceinline__ uint32_t write_block(const CodedBlock& block, unsigned char* to, CodingShared& shared) {
  const uint32_t bit = coding_bit(block.coding);
  if constexpr ((kCodings & kPackings) != 0) {
    if ((bit & kPackings) != 0) return write_packed(block, to, shared);
  }
  if constexpr ((kCodings & coding_bit(Coding::kRising)) != 0) {
    if (block.coding == Coding::kRising) return write_rising(block, to, shared);
  }
  if constexpr ((kCodings & kEliases) != 0) {
    if ((bit & kEliases) != 0) return write_elias(block, to, shared);
  }
  return 0;
}

/// Reads a block's code, and returns false if it is none.
template <uint32_t kCodings>
__device__ __forceinline__ bool read_block(const CodedBlock& block, const unsigned char* code, uint32_t size,
                                           CodingShared& shared) {
  const uint32_t bit = coding_bit(block.coding);
  if constexpr ((kCodings & kPackings) != 0) {
    if ((bit & kPackings) != 0) return read_packed(block, code, size, shared);
  }
  if constexpr ((kCodings & coding_bit(Coding::kRising)) != 0) {
    if (block.coding == Coding::kRising) return read_rising(block, code, size, shared);
  }
  if constexpr ((kCodings & kEliases) != 0) {
    if ((bit & kEliases) != 0) return read_elias(block, code, size, shared);
  }
  return false;
}

/// The payload that a block of threads works on: the last one whose first block is not behind it.
__device__ inline const CodedPayload& payload_of_block(const CodingLaunch& launch) {
  uint32_t first = 0, end = launch.payload_count;
  while (end - first > 1) {
    const uint32_t middle = first + (end - first) / 2;
    if (launch.payloads[middle].first_block <= blockIdx.x) {
      first = middle;
    } else {
      end = middle;
    }
  }
  return launch.payloads[first];
}

/// The section that a block or piece of a payload belongs to; null: the payload has none.
__device__ inline const CodedSection* section_of_block(const CodedPayload& payload, uint32_t block) {
  for (uint32_t k = 0; k < payload.section_count; ++k) {
    const CodedSection& section = payload.sections[k];
    if (block < section.first_block + section.block_count) return &section;
  }
  return nullptr;
}
COMPLL_BOTH bool is_coded(const CodedSection& section) {
  return section.coding != static_cast<uint32_t>(Coding::kPlain);
}
/// Bytes of a whole block's elements, which are a multiple of 16.
COMPLL_BOTH uint32_t bytes_of_block(const CodedSection& section) { return kCodedElements / 8 * section.bits; }

__device__ inline CodedBlock block_of(const CodedPayload& payload, const CodedSection& section, uint32_t index) {
  const uint64_t first = uint64_t{index} * kCodedElements;
  return {static_cast<Coding>(section.coding), section.bits,
          static_cast<uint32_t>(least(uint64_t{kCodedElements}, section.count - first)),
          in_global(payload.plain) + section.begin + uint64_t{index} * bytes_of_block(section)};
}

/// The block or piece that a block of threads works on; `section` null: its payload has none.
struct OwnBlock {
  const CodedPayload& payload;
  uint32_t number;  ///< in the payload
  const CodedSection* section;

  __device__ explicit OwnBlock(const CodingLaunch& launch)
      : payload(payload_of_block(launch)),
        number(blockIdx.x - payload.first_block),
        section(section_of_block(payload, number)) {}
  __device__ uint32_t index() const { return number - section->first_block; }
};

/// Writes all of a payload but its blocks and pieces, and says where these go. `payload.sizes` is there.
__device__ inline void lay_out(const CodedPayload& payload, CodingShared& shared) {
  unsigned char* const out = in_global(payload.payload);
  if (threadIdx.x < kHeaderBytes) out[threadIdx.x] = payload.plain[threadIdx.x];
  uint64_t end = kHeaderBytes;
#pragma unroll 1
  for (uint32_t k = 0; k < payload.section_count; ++k) {
    const CodedSection& section = payload.sections[k];
    uint64_t* const places = in_global(payload.places) + section.first_block;
    const uint64_t begin = section_behind(end);
    if (threadIdx.x == 0) clear_gap(out, end, begin);
    if (!is_coded(section)) {
      for (uint64_t i = threadIdx.x; i < section.block_count; i += kThreads) places[i] = begin + i * kPlainPiece;
      end = begin + section.bytes;
      continue;
    }
    const volatile uint32_t* const sizes = payload.sizes + section.first_block;
    end = begin + uint64_t{2} * section.block_count;
#pragma unroll 1
    for (uint32_t first = 0; first < section.block_count; first += kThreads) {
      const uint32_t i = first + threadIdx.x;
      const uint32_t size = i < section.block_count ? sizes[i] : 0;
      const SumBefore<uint32_t> sum = sum_before(shared.of_warps, size);
      if (i < section.block_count) {
        places[i] = end + sum.before;
        *reinterpret_cast<unsigned short*>(out + begin + uint64_t{2} * i) = static_cast<unsigned short>(size);
      }
      end += sum.all;
    }
  }
  if (threadIdx.x == 0) payload.outcome->bytes = end;
}

template <uint32_t kCodings>
__device__ __forceinline__ void code_blocks(const CodingLaunch& launch) {
  CodingShared& shared = coding_shared();
  const OwnBlock own(launch);
  const CodedPayload& payload = own.payload;
  if (own.section != nullptr && is_coded(*own.section)) {
    const CodedBlock block = block_of(payload, *own.section, own.index());
    unsigned char* const to =
        in_global(payload.codes) + own.section->codes + uint64_t{own.index()} * bytes_of_block(*own.section);
    const uint32_t bytes = write_block<kCodings>(block, to, shared);
    if (threadIdx.x == 0) payload.sizes[own.number] = 1 + (bytes != 0 ? bytes : block.plain_bytes());
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    uint32_t* const ticket = launch.tickets + (&payload - launch.payloads);
    shared.word = atomicAdd(ticket, 1u);
    if (shared.word + 1 == payload.block_count) *ticket = 0;
    __threadfence();
  }
  __syncthreads();
  if (shared.word + 1 == payload.block_count) lay_out(payload, shared);
}

__device__ inline void join_blocks(const CodingLaunch& launch) {
  const OwnBlock own(launch);
  const CodedPayload& payload = own.payload;
  const CodedSection* const section = own.section;
  if (section == nullptr) return;
  const uint32_t index = own.index();
  unsigned char* const to = in_global(payload.payload) + payload.places[own.number];
  if (!is_coded(*section)) {
    const uint64_t first = uint64_t{index} * kPlainPiece;
    const uint64_t bytes = least(uint64_t{kPlainPiece}, section->bytes - first);
    return copy_to_any(in_global(payload.plain) + section->begin + first, static_cast<uint32_t>(bytes), to);
  }
  const CodedBlock block = block_of(payload, *section, index);
  const uint32_t bytes = payload.sizes[own.number] - 1;
  const bool coded = bytes != block.plain_bytes();  // it would be fewer
  const unsigned char* const code =
      in_global(payload.codes) + section->codes + uint64_t{index} * bytes_of_block(*section);
  if (threadIdx.x == 0) to[0] = coded ? 1 : 0;
  copy_to_any(coded ? code : block.plain, bytes, to + 1);
}

/// Returns true in all threads if these bytes are zeros; fewer than kThreads.
__device__ __forceinline__ bool are_zeros(const unsigned char* payload, uint64_t begin, uint64_t end) {
  const uint64_t at = begin + threadIdx.x;
  return !__syncthreads_or(at < end && payload[at] != 0);
}

/// Finds where a section's blocks lie, from its table at `begin` on. Returns its end; 0: it is cut off.
__device__ inline uint64_t find_section(const CodedPayload& payload, const CodedSection& section, uint64_t begin,
                                        CodingShared& shared) {
  uint64_t* const places = in_global(payload.places) + section.first_block;
  if (!is_coded(section)) {
    if (section.bytes > payload.bytes - begin) return 0;
    for (uint64_t i = threadIdx.x; i < section.block_count; i += kThreads) places[i] = begin + i * kPlainPiece;
    return begin + section.bytes;
  }
  const uint64_t table = uint64_t{2} * section.block_count;
  if (table > payload.bytes - begin) return 0;
  uint64_t end = begin + table;
#pragma unroll 1
  for (uint32_t first = 0; first < section.block_count; first += kThreads) {
    const uint32_t i = first + threadIdx.x;
    const uint32_t size = i < section.block_count ? load_pair(payload.payload + begin + uint64_t{2} * i) : 0;
    const SumBefore<uint32_t> sum = sum_before(shared.of_warps, size);
    if (i < section.block_count) places[i] = end + sum.before;
    end += sum.all;
    if (end > payload.bytes) return 0;
  }
  return end;
}

/// Finds the blocks and pieces of a payload, whose size and header have been checked.
__device__ inline void find_blocks(const CodingLaunch& launch) {
  CodingShared& shared = coding_shared();
  const CodedPayload& payload = launch.payloads[blockIdx.x];
  if (threadIdx.x < kHeaderBytes) payload.plain[threadIdx.x] = payload.payload[threadIdx.x];
  uint64_t end = kHeaderBytes;
  bool fault = false;
#pragma unroll 1
  for (uint32_t k = 0; k < payload.section_count && !fault; ++k) {
    const uint64_t begin = section_behind(end);
    fault = begin > payload.bytes || !are_zeros(payload.payload, end, begin);
    if (fault) break;
    end = find_section(payload, payload.sections[k], begin, shared);
    fault = end == 0;
  }
  if (!fault && end == payload.bytes) return;
  __syncthreads();
  for (uint64_t i = threadIdx.x; i < payload.block_count; i += kThreads) payload.places[i] = kNoBlock;
  if (threadIdx.x == 0) payload.outcome->fault = 1;
}

/// Reads a piece of a section that is not coded, and returns false if it is none.
__device__ inline bool read_piece(const CodedPayload& payload, const CodedSection& section, uint32_t index,
                                  const unsigned char* from) {
  const uint64_t first = uint64_t{index} * kPlainPiece;
  const auto bytes = static_cast<uint32_t>(least(uint64_t{kPlainPiece}, section.bytes - first));
  unsigned char* const to = in_global(payload.plain) + section.begin + first;
  for (uint32_t b = threadIdx.x; b < bytes; b += kThreads) to[b] = from[b];
  const bool last = index + 1 == section.block_count;
  if (section.bits == kTrits) {
    constexpr uint32_t kPlaces[5] = {kTrits, 3, 9, 27, 81};
    if (any_above(from, bytes, kTrits - 1)) return false;
    return !last || from[bytes - 1] < kPlaces[section.count % 5];
  }
  const uint32_t used = static_cast<uint32_t>(section.count % 8) * section.bits % 8;
  return !last || used == 0 || from[bytes - 1] >> used == 0;
}

template <uint32_t kCodings>
__device__ __forceinline__ void read_blocks(const CodingLaunch& launch) {
  CodingShared& shared = coding_shared();
  const OwnBlock own(launch);
  const CodedPayload& payload = own.payload;
  const CodedSection* const section = own.section;
  if (section == nullptr || payload.places[own.number] == kNoBlock) return;
  const uint32_t index = own.index();
  const unsigned char* const from = in_global(payload.payload) + payload.places[own.number];
  bool good = false;
  if (!is_coded(*section)) {
    good = read_piece(payload, *section, index, from);
  } else {
    const uint64_t table = payload.places[section->first_block] - uint64_t{2} * section->block_count;
    const uint32_t size = load_pair(payload.payload + table + uint64_t{2} * index);
    const CodedBlock block = block_of(payload, *section, index);
    if (size != 0 && from[0] == 1) {
      good = read_block<kCodings>(block, from + 1, size - 1, shared);
    } else if (size == 1 + block.plain_bytes() && from[0] == 0) {
      for (uint32_t b = threadIdx.x; b < size - 1; b += kThreads) block.plain[b] = from[1 + b];
      const uint32_t used = block.count * block.bits % 8;
      good = used == 0 || from[size - 1] >> used == 0;
    }
  }
  if (!good && threadIdx.x == 0) payload.outcome->fault = 1;
}

}  // namespace casync::compll::cuda
