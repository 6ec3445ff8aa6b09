// SPDX-License-Identifier: Apache-2.0
//
// What the kernels of generated CUDA text are told: plain structs, the same for nvcc, NVRTC and a host's compiler. A
// launch works on a batch of segments, so that many small gradients are one launch.
#pragma once

// NVRTC takes no function that is the host's alone.
#ifdef __CUDACC__
#define COMPLL_ANYWHERE __host__ __device__
#else
#define COMPLL_ANYWHERE
#endif

// Which kernels of a text are compiled: all, unless COMPLL_HAS_ALL is 0; then those whose COMPLL_HAS_name is 1.
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

/// How many elements a gradient has whose rows and columns are known.
struct Matrix {
  uint64_t rows = 0, columns = 0;
  COMPLL_ANYWHERE constexpr operator uint64_t() const { return rows * columns; }  // NOLINT: where only n counts
};

/// One term of a sum: a payload of the codec, or raw elements.
struct Contribution {
  const unsigned char* payload = nullptr;
  const float* raw = nullptr;  ///< when not null, this and not `payload`
};

/// One vector to encode, to merge or to decode. Payloads begin at a multiple of 16 bytes; floats may lie anywhere, and
/// are fastest at a multiple of 16.
struct Segment {
  uint64_t n = 0;
  const float* in = nullptr;                    ///< encode: the elements; result: what was decoded, maybe `out`
  const Contribution* contributions = nullptr;  ///< merge and decode: what is summed, in this order
  uint32_t contribution_count = 0;
  uint32_t first_tile = 0, tile_count = 1;  ///< tiles of the segments before it, and its own: place_tiles
  float scale = 1;                          ///< merge: the sum is multiplied by it
  const float* residual_in = nullptr;
  float* residual_out = nullptr;
  unsigned char* payload = nullptr;  ///< encode and merge: where the code goes
  float* out = nullptr;              ///< decode and result
  const float* states_in = nullptr;  ///< arrays of n floats that the codec keeps, `state_stride` floats apart
  float* states_out = nullptr;       ///< and where they are kept; null: they are not wanted. The two do not overlap
  uint64_t state_stride = 0;
  // Of programs that need the whole vector:
  unsigned char* memory = nullptr;  ///< WholeFunction::memory_bytes of it, of which the first zeroed_bytes are zero
                                    ///< before the launch: whoever allocates them zeroes them once, and each launch
                                    ///< leaves zeros
  uint64_t gradient = 0;            ///< the gradient's key
  uint64_t first = 0;               ///< position of element 0 in the gradient
  // Of programs that exchange; n is rows * columns. States lie one behind the other, RoundsKernels::state_floats in
  // all: they may not be null where there are any.
  uint64_t rows = 0, columns = 0;
  float* exchanged[kMostRounds] = {};  ///< RoundsKernels::exchanged_floats each: written by the turn of that number,
                                       ///< the sum over the ranks before the next one
  float* scratch = nullptr;  ///< RoundsKernels::scratch_floats, kept from turn to turn; from a multiple of 16 bytes on
};

/// A codec with its parameters.
struct Settings {
  uint32_t block = 1;       ///< elements that share statistics, a power of two; 1: there are no blocks
  uint32_t log2_block = 0;  ///< of it
  uint32_t program = 0;     ///< of a program that is loaded from a file: its payloads' fingerprint of it
  double parameters[kMostParameters] = {};
};

/// What all kernels take. All pointers are the device's.
struct Launch {
  const Segment* segments = nullptr;
  uint32_t segment_count = 0;
  uint32_t step = 0;
  uint64_t seed = 0;
  bool add = false;  ///< decode: to what `out` has
  // Of programs that need the whole vector:
  bool subtract = false;        ///< decode: from what `out` has
  uint32_t contributions = 0;   ///< decode: how many of a segment, at most; one that has none stays as it is
  uint32_t tile = 0;            ///< elements of a tile: whole_tile_of
  uint32_t* tickets = nullptr;  ///< a word, zero before the first launch that uses it and behind each; no two launches
                                ///< that run at the same time have the same one
  uint64_t* stamps = nullptr;  ///< when the launch began, and when each turn of a segment of several tiles was over, in
                               ///< ns of the device's clock; null: nobody asks
  /// Shape::slots words for each segment, zero before the first launch that uses them and again behind the last one.
  uint64_t* workspace = nullptr;
  Settings codec;        ///< that encodes, or decodes
  Settings contributed;  ///< merge: the one whose codes are summed
};

/// A warp works on a unit at a time, four warps on a tile.
inline constexpr uint32_t kLanes = 32;
inline constexpr uint32_t kWarps = 4;
inline constexpr uint32_t kThreads = kLanes * kWarps;
/// What a warp has loaded at once: 8 KiB, so that 28 warps find room on a multiprocessor.
inline constexpr uint32_t kPiece = 2048;
/// Four neighbours for each thread.
inline constexpr uint32_t kRow = 4 * kLanes;
/// What a warp works on without a gap: small units, or one that is larger.
inline constexpr uint32_t kStretch = 4 * kRow;
COMPLL_ANYWHERE constexpr uint32_t stretch_of(uint32_t unit) { return unit > kStretch ? unit : kStretch; }

/// How a codec's kernels are launched.
struct Shape {
  uint32_t slots = 1;            ///< words of the workspace for each segment
  uint32_t fixed_block = 0;      ///< 0: see block_parameter
  int32_t block_parameter = -1;  ///< the parameter that is the block; -1: there is none, or it is fixed
  bool has_blocks = false;
  bool ordered = false;          ///< sums within a block have an order: a unit is one block
  bool statistics = false;       ///< a launch before encode looks at all of a segment first
  bool second_for_kept = false;  ///< and ends the encoding of segments that keep nothing
};

/// Whether a residual or states are wanted of the encoding.
COMPLL_ANYWHERE constexpr bool keeps(const Segment& segment) {
  return segment.residual_out != nullptr || segment.states_out != nullptr;
}
/// Whether the launch of statistics leaves the one behind it anything to do.
COMPLL_ANYWHERE inline bool needs_second(const Shape& shape, const Segment* segments, uint32_t count) {
  bool any = !shape.statistics || !shape.second_for_kept;
  for (uint32_t i = 0; i < count; ++i) any = any || keeps(segments[i]);
  return any;
}

using Kernel = void (*)(Launch);

/// What launches of a segment need, as a kernel of its own tells a host that has not compiled the text itself.
/// Functions are in the order encode, merge, decode, result, or else turns.
struct Sizes {
  uint32_t tile_elements = 0;
  uint64_t memory_bytes[kMostRounds + 1] = {}, zeroed_bytes[kMostRounds + 1] = {};
  // Of programs that exchange:
  uint64_t exchanged_floats[kMostRounds] = {};
  uint64_t state_floats = 0, scratch_floats = 0;
};
/// One thread. A vector has a column.
using SizesKernel = void (*)(Sizes*, Matrix, Settings);

/// The kernels of one codec; null where it has none.
struct Kernels {
  const char* name = "";
  Shape shape;
  Kernel encode = nullptr, merge = nullptr, decode = nullptr;
  Kernel result = nullptr;
  Kernel encode_statistics = nullptr, merge_statistics = nullptr;
};

/// One function of a program that needs the whole vector: one launch, in which tiles wait for each other between
/// stages. No kernel: the program does not have it.
struct WholeFunction {
  Kernel kernel = nullptr;
  uint32_t stages = 0;
  uint64_t (*memory_bytes)(uint64_t n, const Settings& settings) = nullptr;  ///< of a segment
  uint64_t (*zeroed_bytes)(uint64_t n, const Settings& settings) = nullptr;
};

/// The kernels of a program that needs the whole vector. Encoding takes `encode`, and of a sum `merge` if there is one.
/// A residual is what was encoded, in `residual_out`, less what `decode` then subtracts, unless encoding has done so.
struct WholeKernels {
  const char* name = "";
  uint32_t states = 0;
  bool keeps_residual = false;  ///< encoding has
  SizesKernel sizes = nullptr;
  uint32_t (*tile_elements)(const Settings& settings) = nullptr;  ///< a multiple of all blocks and of 4096
  WholeFunction encode, merge, decode, result;
};

/// One turn of a step that exchanges: what `in` and the states of a whole-vector launch are, it reads; what it hands to
/// the next exchange, to `states_out` and `out`, it writes. Only the last turn writes `out`, which may be `in`.
struct TurnFunction {
  Kernel kernel = nullptr;
  uint32_t stages = 0;
  uint64_t (*memory_bytes)(const Matrix& n, const Settings& settings) = nullptr;  ///< of a segment, as WholeFunction's
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

COMPLL_ANYWHERE inline uint64_t whole_tiles_of(uint64_t n, uint32_t tile) { return n == 0 ? 1 : (n - 1) / tile + 1; }

COMPLL_ANYWHERE inline uint64_t whole_tiles_of(const Segment* segments, uint32_t count, uint32_t tile) {
  uint64_t tiles = 0;
  for (uint32_t i = 0; i < count; ++i) tiles += whole_tiles_of(segments[i].n, tile);
  return tiles;
}

/// Elements, unless the program says more.
inline constexpr uint32_t kLargestWholeTile = 131072;

/// How many elements a launch's tiles have: so many that each of the blocks of threads that run at a time (`most`) has
/// one to do in each stage, as what a tile costs by itself is the same for a large one; of many elements as many each.
/// `tile`: WholeKernels::tile_elements. `at_most`: see kLargestWholeTile.
COMPLL_ANYWHERE inline uint32_t whole_tile_of(const Segment* segments, uint32_t count, uint32_t tile, uint32_t most,
                                              uint32_t at_most = kLargestWholeTile) {
  const uint32_t largest = tile < at_most ? at_most / tile : 1;
  const uint64_t each = uint64_t{largest} * most;  // and a segment's last tile may have hardly any
  const uint64_t turns = (whole_tiles_of(segments, count, tile) + uint64_t{largest} * count + each - 1) / each;
  uint32_t times = 1;
  while (times < largest && whole_tiles_of(segments, count, times * tile) > turns * most) ++times;
  return times * tile;
}

/// Numbers the tiles of segments; how many there are.
COMPLL_ANYWHERE inline uint32_t place_whole_tiles(Segment* segments, uint32_t count, uint32_t tile) {
  uint32_t tiles = 0;
  for (uint32_t i = 0; i < count; ++i) {
    segments[i].first_tile = tiles;
    segments[i].tile_count = static_cast<uint32_t>(whole_tiles_of(segments[i].n, tile));
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

/// Floats that a warp keeps: rows are loaded whole, and read whole from where a unit begins.
COMPLL_ANYWHERE constexpr uint32_t kept_of(uint32_t unit) {
  return (unit < kPiece ? stretch_of(unit) : kPiece) + (unit < kRow ? kRow : 0);
}

/// How large a launch is.
struct Grid {
  uint32_t blocks = 0, threads = 0, shared_bytes = 0;
};

COMPLL_ANYWHERE constexpr Grid grid_of(uint32_t tiles, uint32_t unit) {
  return {tiles, kThreads, kWarps * kept_of(unit) * static_cast<uint32_t>(sizeof(float))};
}
/// What follows from a segment's size finds room in shared memory if it has so many words of 64 bits.
inline constexpr uint32_t kGeometryWords = 48;
/// A whole vector's tile: 4096 words of shared memory, the segment, and what threads of a block tell each other.
inline constexpr uint32_t kWholeSharedBytes = 4096 * 4 +
                                              (64 + kGeometryWords) * static_cast<uint32_t>(sizeof(uint64_t)) +
                                              kThreads * 4 + 16 + static_cast<uint32_t>(sizeof(Segment));
/// Blocks take tiles as they come, so any number of them does it, one too. More than there are tiles, or than the
/// device runs at a time (`most`), would find nothing to do.
COMPLL_ANYWHERE constexpr Grid whole_grid_of(uint32_t tiles, uint32_t most) {
  return {tiles < most ? tiles : most, kThreads, kWholeSharedBytes};
}

/// Numbers the tiles of segments; how many there are.
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
