// SPDX-License-Identifier: Apache-2.0
//
// The arguments of the kernels of generated CUDA text: plain structs, the same for nvcc, NVRTC and a host's compiler. A
// launch works on a batch of segments, so that many small gradients are one launch.
#pragma once

// NVRTC takes no function that is for the host only.
#ifdef __CUDACC__
#define COMPLL_ANYWHERE __host__ __device__
#else
#define COMPLL_ANYWHERE
#endif

// Selects the kernels to compile: all, unless COMPLL_HAS_ALL is 0; then those whose COMPLL_HAS_name is 1.
#ifndef COMPLL_HAS_ALL
#define COMPLL_HAS_ALL 1
#endif
#define COMPLL_HAS(kernel) (COMPLL_HAS_ALL || COMPLL_HAS_##kernel)

namespace casync::compll::cuda {

// NVRTC has no <cstdint>.
using int32_t = int;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
static_assert(sizeof(uint32_t) == 4 && sizeof(uint64_t) == 8);

/// The most parameters a codec has.
inline constexpr uint32_t kMostParameters = 16;
/// The most exchanges within a step.
inline constexpr uint32_t kMostRounds = 8;

/// The size of a gradient whose rows and columns are known.
struct Matrix {
  uint64_t rows = 0, columns = 0;
  COMPLL_ANYWHERE constexpr operator uint64_t() const { return rows * columns; }  // NOLINT: where only n counts
};

/// The type of a gradient's elements.
enum class ElementType : uint32_t { kFloat32, kFloat16, kBFloat16 };

/// One term of a sum: a payload of the codec, or raw elements.
struct Contribution {
  const unsigned char* payload = nullptr;
  const void* raw = nullptr;  ///< when not null, this and not `payload`
  ElementType raw_type = ElementType::kFloat32;
};

/// One vector to encode, to merge or to decode. Payloads begin at a multiple of 16 bytes; elements may lie anywhere,
/// and are fastest at a multiple of 16, of 8 if they have two bytes.
struct Segment {
  uint64_t n = 0;
  const void* in = nullptr;                     ///< encode: the elements; result: the decoded vector, maybe `out`
  const Contribution* contributions = nullptr;  ///< merge and decode: the terms of the sum, in this order
  uint32_t contribution_count = 0;
  uint32_t first_tile = 0, tile_count = 1;       ///< tiles of earlier segments, and its own: place_tiles
  float scale = 1;                               ///< merge: the sum is multiplied by it
  ElementType in_type = ElementType::kFloat32;   ///< of `in`: encode. Turns and results read float32
  ElementType out_type = ElementType::kFloat32;  ///< of `out`: decode and result. The last turn writes float32
  /// Set to 1 by kernels that store an infinity or NaN to an `out` of half precision; null: the caller does not ask.
  uint32_t* not_finite = nullptr;
  const float* residual_in = nullptr;
  float* residual_out = nullptr;
  unsigned char* payload = nullptr;  ///< encode and merge: the code's address
  void* out = nullptr;               ///< decode and result; merge of programs in vector form: room for the sum
  const float* states_in = nullptr;  ///< arrays of n floats that the codec keeps, `state_stride` floats apart
  float* states_out = nullptr;       ///< their new values; null: the caller does not want them. The two do not overlap
  uint64_t state_stride = 0;
  // Members of programs in vector form:
  unsigned char* memory = nullptr;  ///< VectorFormFunction::memory_bytes of it; the first zeroed_bytes are zero when
                                    ///< the launch starts: the allocator zeroes them once, and each launch leaves
                                    ///< zeros
  uint64_t gradient = 0;            ///< the gradient's key
  uint64_t first = 0;               ///< position of element 0 in the gradient
  // Members of programs that exchange; n is rows * columns. States lie one after the other, RoundsKernels::state_floats
  // in all: they may not be null if there are any.
  uint64_t rows = 0, columns = 0;
  float* exchanged[kMostRounds] = {};  ///< RoundsKernels::exchanged_floats each: written by the turn of that number,
                                       ///< summed over the ranks when the next one starts
  float* scratch = nullptr;  ///< RoundsKernels::scratch_floats, kept from turn to turn; from a multiple of 16 bytes on
};

/// A codec with its parameters.
struct Settings {
  uint32_t block = 1;       ///< elements that share statistics, a power of two; 1: there are no blocks
  uint32_t log2_block = 0;  ///< log2 of it
  uint32_t program = 0;     ///< a program loaded from a file: the fingerprint in its payloads
  double parameters[kMostParameters] = {};
};

/// The arguments of all kernels. All pointers are the device's.
struct Launch {
  const Segment* segments = nullptr;
  uint32_t segment_count = 0;
  uint32_t step = 0;
  uint64_t seed = 0;
  bool add = false;  ///< decode: adds to `out`
  // Members of programs in vector form:
  bool subtract = false;        ///< decode: subtracts from `out`
  uint32_t contributions = 0;   ///< decode: the most contributions of a segment; one that has none stays as it is
  uint32_t tile = 0;            ///< elements of a tile: vector_form_tile_of
  uint32_t* tickets = nullptr;  ///< a word, zero when the first launch that uses it starts and after each; two
                                ///< launches that run at the same time have different ones
  uint64_t* stamps = nullptr;   ///< times of the launch's begin, and of the end of each turn of a segment of several
                                ///< tiles, in ns of the device's clock; null: the caller wants none
  /// Shape::slots words for each segment, zero when the first launch that uses them starts and again after the last.
  uint64_t* workspace = nullptr;
  Settings codec;
};

/// A warp works on a unit at a time, four warps on a tile.
inline constexpr uint32_t kLanes = 32;
inline constexpr uint32_t kWarps = 4;
inline constexpr uint32_t kThreads = kLanes * kWarps;
/// Elements that a warp has loaded at once: 8 KiB, so that 28 warps find room on a multiprocessor.
inline constexpr uint32_t kPiece = 2048;
/// Four neighbours for each thread.
inline constexpr uint32_t kRow = 4 * kLanes;
/// Elements that a warp works on without a gap: small units, or one that is larger.
inline constexpr uint32_t kStretch = 4 * kRow;
COMPLL_ANYWHERE constexpr uint32_t stretch_of(uint32_t unit) { return unit > kStretch ? unit : kStretch; }

/// The launch parameters of a codec's kernels.
struct Shape {
  uint32_t slots = 1;            ///< words of the workspace for each segment
  uint32_t fixed_block = 0;      ///< 0: see block_parameter
  int32_t block_parameter = -1;  ///< the parameter that is the block; -1: there is none, or it is fixed
  bool has_blocks = false;
  bool ordered = false;          ///< sums within a block have an order: a unit is one block
  bool statistics = false;       ///< a launch ahead of encode looks at all of a segment
  bool second_for_kept = false;  ///< and ends the encoding of segments that keep nothing
};

/// Returns true if the caller wants a residual or states of the encoding.
COMPLL_ANYWHERE constexpr bool keeps(const Segment& segment) {
  return segment.residual_out != nullptr || segment.states_out != nullptr;
}
/// Returns true if the launch of statistics leaves work for the next one.
COMPLL_ANYWHERE inline bool needs_second(const Shape& shape, const Segment* segments, uint32_t count) {
  bool any = !shape.statistics || !shape.second_for_kept;
  for (uint32_t i = 0; i < count; ++i) any = any || keeps(segments[i]);
  return any;
}

using Kernel = void (*)(Launch);

/// The sizes that launches of a segment need, as a kernel of its own tells them to a host that has not compiled the
/// text itself. Functions are in the order encode, merge, decode, result, or else turns.
struct Sizes {
  uint32_t tile_elements = 0;  ///< 0: no tile has whole blocks of all sizes of the program
  uint64_t memory_bytes[kMostRounds + 1] = {}, zeroed_bytes[kMostRounds + 1] = {};
  // Members of programs that exchange:
  uint64_t exchanged_floats[kMostRounds] = {};
  uint64_t state_floats = 0, scratch_floats = 0;
};
/// Runs in one thread. A vector has one column.
using SizesKernel = void (*)(Sizes*, Matrix, Settings);

/// The kernels of one codec; null where it has none.
struct Kernels {
  const char* name = "";
  Shape shape;
  Kernel encode = nullptr, merge = nullptr, decode = nullptr;
  Kernel result = nullptr;
  Kernel encode_statistics = nullptr, merge_statistics = nullptr;
};

/// One function of a program in vector form: one launch, in which tiles wait for each other between
/// stages. No kernel: the program does not have it.
struct VectorFormFunction {
  Kernel kernel = nullptr;
  uint32_t stages = 0;
  uint64_t (*memory_bytes)(uint64_t n, const Settings& settings) = nullptr;  ///< of a segment
  uint64_t (*zeroed_bytes)(uint64_t n, const Settings& settings) = nullptr;
};

/// The kernels of a program in vector form. `encode` encodes; sums are encoded by `merge` if there is one.
/// A residual is the encoded vector, in `residual_out`, minus what `decode` subtracts, unless encoding has done so.
struct VectorFormKernels {
  const char* name = "";
  uint32_t states = 0;
  bool keeps_residual = false;  ///< encoding has subtracted
  SizesKernel sizes = nullptr;
  uint32_t (*tile_elements)(const Settings& settings) = nullptr;  ///< a multiple of all blocks and of 4096, or 0
  VectorFormFunction encode, merge, decode, result;
};

/// One turn of a step that exchanges. It reads `in` and the states, as a launch in vector form does, and writes the
/// input of the next exchange, `states_out` and `out`. Only the last turn writes `out`, which may be `in`.
struct TurnFunction {
  Kernel kernel = nullptr;
  uint32_t stages = 0;
  /// Bytes of a segment, as those of VectorFormFunction.
  uint64_t (*memory_bytes)(const Matrix& n, const Settings& settings) = nullptr;
  uint64_t (*zeroed_bytes)(const Matrix& n, const Settings& settings) = nullptr;
};

/// The kernels of a program that exchanges within a step: a launch for each turn, which is one more than exchanges.
struct RoundsKernels {
  const char* name = "";
  uint32_t rounds = 0;
  SizesKernel sizes = nullptr;
  uint32_t (*tile_elements)(const Settings& settings) = nullptr;
  uint64_t (*exchanged_floats)(uint32_t round, const Matrix& n, const Settings& settings) = nullptr;
  uint64_t (*state_floats)(const Matrix& n, const Settings& settings) = nullptr;
  uint64_t (*scratch_floats)(const Matrix& n, const Settings& settings) = nullptr;
  TurnFunction turns[kMostRounds + 1];
};

COMPLL_ANYWHERE inline uint64_t vector_form_tiles_of(uint64_t n, uint32_t tile) {
  return n == 0 ? 1 : (n - 1) / tile + 1;
}

COMPLL_ANYWHERE inline uint64_t vector_form_tiles_of(const Segment* segments, uint32_t count, uint32_t tile) {
  uint64_t tiles = 0;
  for (uint32_t i = 0; i < count; ++i) tiles += vector_form_tiles_of(segments[i].n, tile);
  return tiles;
}

/// Elements, unless the program says more.
inline constexpr uint32_t kLargestVectorFormTile = 131072;

/// Returns the number of elements in a launch's tiles: so large that each of the blocks of threads that run at a time
/// (`most`) has one tile in each stage, as the fixed cost of a tile is the same for a large one; with many elements, as
/// many tiles each. `tile`: VectorFormKernels::tile_elements. `at_most`: see kLargestVectorFormTile.
COMPLL_ANYWHERE inline uint32_t vector_form_tile_of(const Segment* segments, uint32_t count, uint32_t tile,
                                                    uint32_t most, uint32_t at_most = kLargestVectorFormTile) {
  const uint32_t largest = tile < at_most ? at_most / tile : 1;
  const uint64_t each = uint64_t{largest} * most;  // and a segment's last tile may have hardly any
  const uint64_t turns = (vector_form_tiles_of(segments, count, tile) + uint64_t{largest} * count + each - 1) / each;
  uint32_t times = 1;
  while (times < largest && vector_form_tiles_of(segments, count, times * tile) > turns * most) ++times;
  return times * tile;
}

/// Numbers the tiles of segments; returns their count.
COMPLL_ANYWHERE inline uint32_t place_vector_form_tiles(Segment* segments, uint32_t count, uint32_t tile) {
  uint32_t tiles = 0;
  for (uint32_t i = 0; i < count; ++i) {
    segments[i].first_tile = tiles;
    segments[i].tile_count = static_cast<uint32_t>(vector_form_tiles_of(segments[i].n, tile));
    tiles += segments[i].tile_count;
  }
  return tiles;
}

COMPLL_ANYWHERE constexpr uint32_t unit_of(bool has_blocks, bool ordered, uint32_t block) {
  if (!has_blocks) return 4 * kRow;  // four loads under way in each thread
  return ordered || block > kRow ? block : kRow;
}
COMPLL_ANYWHERE constexpr uint32_t tile_of(uint32_t unit) { return kWarps * (unit > 1024 ? unit : 1024); }
COMPLL_ANYWHERE constexpr uint64_t tiles_of(uint64_t n, uint32_t unit) {
  return n == 0 ? 1 : (n - 1) / tile_of(unit) + 1;
}

/// Floats that a warp keeps: rows are loaded whole, and read whole from the beginning of a unit.
COMPLL_ANYWHERE constexpr uint32_t kept_of(uint32_t unit) {
  return (unit < kPiece ? stretch_of(unit) : kPiece) + (unit < kRow ? kRow : 0);
}

/// The size of a launch.
struct Grid {
  uint32_t blocks = 0, threads = 0, shared_bytes = 0;
};

COMPLL_ANYWHERE constexpr Grid grid_of(uint32_t tiles, uint32_t unit) {
  return {tiles, kThreads, kWarps * kept_of(unit) * static_cast<uint32_t>(sizeof(float))};
}
/// The most words of 64 bits that shared memory has for the values that follow from a segment's size.
inline constexpr uint32_t kGeometryWords = 48;
/// The shared memory of a tile of kernels in vector form: 4096 words, the segment, and words that threads of a block
/// exchange.
inline constexpr uint32_t kVectorFormSharedBytes = 4096 * 4 +
                                                   (64 + kGeometryWords) * static_cast<uint32_t>(sizeof(uint64_t)) +
                                                   kThreads * 4 + 16 + static_cast<uint32_t>(sizeof(Segment));
/// Blocks take tiles as they come, so any number of them is enough, even one. More blocks than there are tiles, or than
/// the device runs at a time (`most`), would find nothing to do.
COMPLL_ANYWHERE constexpr Grid vector_form_grid_of(uint32_t tiles, uint32_t most) {
  return {tiles < most ? tiles : most, kThreads, kVectorFormSharedBytes};
}

/// Numbers the tiles of segments; returns their count.
COMPLL_ANYWHERE inline uint32_t place_tiles(Segment* segments, uint32_t count, uint32_t unit) {
  uint32_t tiles = 0;
  for (uint32_t i = 0; i < count; ++i) {
    segments[i].first_tile = tiles;
    segments[i].tile_count = static_cast<uint32_t>(tiles_of(segments[i].n, unit));
    tiles += segments[i].tile_count;
  }
  return tiles;
}

}  // namespace casync::compll::cuda
