// SPDX-License-Identifier: Apache-2.0
//
// Runs several stages in one launch; each stage needs the results of all tiles in the previous one. Blocks of threads
// take tickets from a counter: all tiles of the first stage come first, then those of the second. A tile waits until
// its segment has done the earlier stages: for tickets that were taken earlier, by blocks that run. So no block waits
// for ever, however many there are, and the launch needs not be cooperative (the argument of Merrill and Garland 2016,
// for looking back). The host takes no part.
#pragma once

#include "compll/ops/cuda/program.cuh"

namespace casync::compll::cuda {

inline constexpr uint32_t kVectorFormTile = 4096;

/// Shared memory of a block of threads: a step's data of a tile, words that threads exchange, and the segment with the
/// values that follow from its size, which are read often.
struct Shared {
  uint32_t words[kVectorFormTile];
  uint64_t told[64];
  uint64_t geometry[kGeometryWords];
  uint32_t sums[kThreads];
  uint32_t ticket, unused[3];
  Segment segment;
};
static_assert(sizeof(Shared) == kVectorFormSharedBytes);
__device__ inline Shared& shared_of_block() { return *reinterpret_cast<Shared*>(shared_memory()); }

/// The first words of a segment's memory.
struct Control {
  uint32_t tiles;  ///< tiles that are done with the stage
  uint32_t stages;  ///< those that all tiles are done with
  uint32_t not_finite;
  uint32_t unused;
};

/// Lays out arrays one after the other.
class Places {
 public:
  COMPLL_BOTH uint64_t take(uint64_t bytes) {
    const uint64_t at = end_;
    end_ += (bytes + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
    return at;
  }
  COMPLL_BOTH uint64_t end() const { return end_; }

 private:
  uint64_t end_ = 0;
};

/// Orders memory: threads that see this thread's next store also see all that this thread has seen so far, and the
/// other way round. It orders less than __threadfence, which waits for more.
__device__ __forceinline__ void fence() {
#ifdef __CUDA_ARCH__
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
#else
  __threadfence();
#endif
}

/// Nanoseconds of a clock that all multiprocessors share.
__device__ __forceinline__ uint64_t device_time() {
  uint64_t time = 0;
#ifdef __CUDA_ARCH__
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
#endif
  return time;
}

/// True if the values that follow from a segment's size are in shared memory; else each stage computes them.
template <class Geometry>
inline constexpr bool kIsShared = sizeof(Geometry) <= sizeof(Shared::geometry);

/// The work of a block of threads: one tile of a segment in one stage.
struct Part {
  const Launch& launch;
  const Segment& segment;
  uint64_t n;
  uint32_t tile;
  uint32_t stage, stages;  ///< its number, and that of all: decoding runs each contribution's one after the other
  bool adds;             ///< decode: adds to the elements
  Control* control;
  Shared& shared;
  uint32_t piece, piece_end;  ///< the piece of the tile at hand: elements from here on
  bool is_even = false;  ///< an array of another length than the segment is shared evenly, not by elements' places

  /// Makes the part of the segment that is in shared memory.
  __device__ __forceinline__ static Part of(const Launch& launch, uint32_t tile, uint32_t stage, uint32_t stages) {
    Shared& shared = shared_of_block();
    const Segment& segment = shared.segment;
    return {launch,
            segment,
            segment.n,
            tile - segment.first_tile,
            stage,
            stages,
            launch.add,
            in_global(reinterpret_cast<Control*>(segment.memory)),
            shared,
            0,
            launch.tile};
  }

  /// The tile's share of `count` elements, or its piece at hand; the last tile also has elements after its own.
  __device__ uint64_t begin(uint64_t count) const {
    if (is_even && count != n) return least(uint64_t{tile} * share(count), count);
    return least(uint64_t{tile} * launch.tile + piece, count);
  }
  __device__ uint64_t end(uint64_t count) const {
    const bool is_last_tile = tile + 1 == segment.tile_count;
    if (is_even && count != n) return is_last_tile ? count : least((uint64_t{tile} + 1) * share(count), count);
    const uint64_t own = uint64_t{tile} * launch.tile + piece_end;
    return is_last_tile && own >= n ? count : least(own, count);
  }
  /// A tile that is gone through several times is at hand in pieces that caches hold; afterwards all of it is.
  __device__ void take_piece(uint32_t size) { piece_end = least(size, launch.tile); }
  __device__ bool take_next_piece(uint32_t size) {
    piece = piece_end;
    const bool is_there = piece < launch.tile && uint64_t{tile} * launch.tile + piece < n;
    if (!is_there) piece = 0;
    piece_end = is_there ? least(piece + size, launch.tile) : launch.tile;
    return is_there;
  }
  /// A share of whole bytes at every width, also of trits, and of whole batches.
  __device__ uint32_t share(uint64_t count) const {
    constexpr uint32_t kBytes = 40 * 32;
    return static_cast<uint32_t>((count / segment.tile_count + kBytes) / kBytes * kBytes);
  }
  /// The part for arrays shorter than the segment: all tiles have equal shares of them, as far as that goes.
  __device__ Part evenly() const {
    Part part = *this;
    part.is_even = true;
    return part;
  }
  /// The tile's share of blocks: it has whole ones.
  __device__ uint64_t begin_block(uint64_t block) const { return begin(n) / block; }
  __device__ uint64_t end_block(uint64_t block) const { return (end(n) + block - 1) / block; }
  __device__ bool is_first_thread() const { return tile == 0 && threadIdx.x == 0; }

  template <class T>
  __device__ T* at(uint64_t place) const {
    return in_global(reinterpret_cast<T*>(segment.memory + place));
  }
  __device__ const float* state_in(uint32_t index) const {
    return in_global(segment.states_in + index * segment.state_stride);
  }
  /// The memory of a state's new elements: the state's own, or any if the caller does not want them.
  __device__ float* state_out(uint32_t index, uint64_t otherwise) const {
    return segment.states_out == nullptr ? at<float>(otherwise)
                                         : in_global(segment.states_out + index * segment.state_stride);
  }
  // Members for a program that exchanges.
  __device__ Matrix matrix() const { return {segment.rows, segment.columns}; }
  __device__ float* exchanged(uint32_t round) const { return in_global(segment.exchanged[round]); }
  template <class T>
  __device__ T* scratch(uint64_t floats) const {
    return in_global(reinterpret_cast<T*>(segment.scratch + floats));
  }
  __device__ const float* kept_in(uint64_t floats) const { return in_global(segment.states_in + floats); }
  __device__ float* kept_out(uint64_t floats, uint64_t otherwise) const {
    return segment.states_out == nullptr ? at<float>(otherwise) : in_global(segment.states_out + floats);
  }
  /// The vector to encode: where the residual will be, the input itself, or in memory.
  __device__ bool is_input_made() const {
    return segment.residual_in != nullptr || segment.residual_out != nullptr || segment.scale != 1 ||
           segment.in_type != ElementType::kFloat32;
  }
  __device__ float* made_input(uint64_t otherwise) const {
    return segment.residual_out != nullptr ? in_global(segment.residual_out) : at<float>(otherwise);
  }
  __device__ const float* input(uint64_t otherwise) const {
    return is_input_made() ? made_input(otherwise) : given();
  }
  /// `in` as float32, which a turn and a result have.
  __device__ const float* given() const { return in_global(static_cast<const float*>(segment.in)); }
  /// The memory of what a turn makes.
  __device__ float* made() const { return in_global(static_cast<float*>(segment.out)); }
  /// The memory of what is decoded, and of a result.
  __device__ Results out() const { return Results(segment); }
  __device__ RandomStream random() const { return {launch.seed, segment.gradient, launch.step, segment.first}; }

  /// The program's sizes and places of the segment: a reference to shared memory, or a value if there is no room.
  template <class Geometry>
  __device__ __forceinline__ decltype(auto) geometry() const {
    if constexpr (kIsShared<Geometry>) {
      return *reinterpret_cast<const Geometry*>(shared.geometry);
    } else {
      return Geometry::of(segment, launch.codec);
    }
  }

  // All threads of the block call these functions together.

  /// A segment of one tile is one block's from the first stage to the last.
  __device__ bool is_alone() const { return segment.tile_count == 1; }

  /// Waits until all tiles are done with the earlier stages; then their results are there.
  __device__ __forceinline__ void wait() const {
    if (is_alone() || stage == 0) return;
    if (threadIdx.x == 0) {
      while (*static_cast<const volatile uint32_t*>(&control->stages) < stage) __nanosleep(32);
      fence();
    }
    __syncthreads();
  }

  /// Returns true if this is the last tile of the segment to be done: then the results of all others are there.
  __device__ bool is_last() const {
    __syncthreads();
    if (is_alone()) return true;
    bool last = false;
    if (threadIdx.x == 0) {
      fence();
      last = atomicAdd(&control->tiles, 1u) + 1 == segment.tile_count;
      if (last) fence();
    }
    return __syncthreads_or(last) != 0;
  }

  /// Called in the last tile: starts the stage `count` later. After the last stage all words are as they were at first.
  __device__ void end_stage(uint32_t count = 1) const {
    __syncthreads();
    if (is_alone() || threadIdx.x != 0) return;
    control->tiles = 0;
    if (launch.stamps != nullptr) launch.stamps[stage + count] = device_time();
    fence();
    *static_cast<volatile uint32_t*>(&control->stages) = stage + count == stages ? 0 : stage + count;
  }

  /// Called in the last tile: sets the memory that has to be zero to zero again.
  __device__ void clear(uint64_t zeroed) const {
    __syncthreads();
    if (threadIdx.x == 0) control->not_finite = 0;
#pragma unroll 4
    for (uint64_t i = sizeof(Control) + 16 * threadIdx.x; i < zeroed; i += 16 * kThreads) {
      store_word(at<unsigned char>(i), Quad<uint32_t>{});
    }
  }
};

/// Runs the stages of all tiles: each block of threads takes the next ticket when it begins with the one it has. So a
/// block that waits holds a later ticket, but waits only for tickets ahead of the earlier one.
template <class Geometry, class Do>
__device__ __forceinline__ void run_stages(const Launch& launch, uint32_t stages, const Do& run) {
  Shared& shared = shared_of_block();
  const Segment& end = launch.segments[launch.segment_count - 1];
  const uint32_t tiles = end.first_tile + end.tile_count;
  // If each segment has one tile, there is nothing to wait for.
  const uint32_t tickets = tiles == launch.segment_count ? tiles : tiles * stages;
  const Segment* at_hand = nullptr;
  uint32_t next = 0;
  if (threadIdx.x == 0) next = atomicAdd(in_global(launch.tickets), 1u);
  if (launch.stamps != nullptr && blockIdx.x == 0 && threadIdx.x == 0) *launch.stamps = device_time();
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) shared.ticket = next;
    __syncthreads();
    const uint32_t ticket = shared.ticket;
    if (ticket >= tickets) {
      // Each block takes one ticket in vain: the last of these is the last of all.
      if (threadIdx.x == 0 && ticket + 1 == tickets + gridDim.x) *launch.tickets = 0;
      return;
    }
    if (threadIdx.x == 0) next = atomicAdd(in_global(launch.tickets), 1u);
    const Segment* const wanted =
        tiles == launch.segment_count ? launch.segments + ticket : &segment_of_tile(launch, ticket % tiles);
    if (wanted != at_hand) {
      static_assert(sizeof(Segment) % 8 == 0 && sizeof(Segment) / 8 <= kThreads);
      auto* const to = reinterpret_cast<uint64_t*>(&shared.segment);
      const auto* const from = reinterpret_cast<const uint64_t*>(wanted);
      if (threadIdx.x < sizeof(Segment) / 8) to[threadIdx.x] = from[threadIdx.x];
      if constexpr (kIsShared<Geometry>) {
        if (threadIdx.x == 0) *reinterpret_cast<Geometry*>(shared.geometry) = Geometry::of(*wanted, launch.codec);
      }
      at_hand = wanted;
      __syncthreads();
    }
    Part part = Part::of(launch, ticket % tiles, ticket / tiles, stages);
    const bool alone = part.is_alone();
    if (alone && part.stage != 0) continue;
    do {
      run(part);
    } while (alone && ++part.stage < stages);
  }
}

}  // namespace casync::compll::cuda
