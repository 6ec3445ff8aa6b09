// SPDX-License-Identifier: Apache-2.0
//
// The parts of CUDA that generated kernels use, for a host's compiler: included first. A thread is a fibre; it runs
// until it waits for its warp or its block, and then those that it waits for run. That is slow and shows what a kernel
// computes.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#define __host__
#define __device__
#define __global__
#define __shared__
#define __forceinline__ inline
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)

namespace casync::compll::emulated {

struct Index {
  unsigned x = 0;
};

/// Waits until all lanes of the warp are here with the same operation, and returns the words of all.
const std::uint64_t* exchange(const char* operation, std::uint64_t own);
void wait_for_block();
/// Waits for the block, and returns true if any of its threads passed true.
bool any_of_block(bool own);
/// Lets other threads run. A thread that polls for their work has to call it.
void wait_for_others();
/// Called ahead of what other blocks see: in a random order, others may run here first.
void let_others_in();

template <class T>
std::uint64_t to_word(T value) {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}
template <class T>
T from_word(std::uint64_t word) {
  T value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

}  // namespace casync::compll::emulated

struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

/// The built-in variables of the fibre that runs.
extern casync::compll::emulated::Index threadIdx, blockIdx, gridDim;

inline unsigned emulated_lane() { return threadIdx.x % 32; }

template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  const unsigned from = emulated_lane() ^ static_cast<unsigned>(mask);
  return casync::compll::emulated::from_word<T>(
      casync::compll::emulated::exchange("shfl_xor", casync::compll::emulated::to_word(value))[from]);
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned by, int width = 32) {
  const unsigned lane = emulated_lane(), last = lane | static_cast<unsigned>(width - 1);
  const std::uint64_t* all = casync::compll::emulated::exchange("shfl_down", casync::compll::emulated::to_word(value));
  return casync::compll::emulated::from_word<T>(all[lane + by <= last ? lane + by : lane]);
}
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned by) {
  const unsigned lane = emulated_lane();
  const std::uint64_t* all = casync::compll::emulated::exchange("shfl_up", casync::compll::emulated::to_word(value));
  return casync::compll::emulated::from_word<T>(all[lane >= by ? lane - by : lane]);
}
template <class T>
T __shfl_sync(unsigned, T value, int from) {
  return casync::compll::emulated::from_word<T>(
      casync::compll::emulated::exchange("shfl", casync::compll::emulated::to_word(value))[from]);
}
inline unsigned __ballot_sync(unsigned, bool vote) {
  const std::uint64_t* all = casync::compll::emulated::exchange("ballot", vote ? 1 : 0);
  unsigned votes = 0;
  for (unsigned lane = 0; lane < 32; ++lane) votes |= static_cast<unsigned>(all[lane]) << lane;
  return votes;
}
inline bool __any_sync(unsigned mask, bool vote) { return __ballot_sync(mask, vote) != 0; }
inline bool __all_sync(unsigned mask, bool vote) { return __ballot_sync(mask, vote) == 0xffffffffu; }
inline unsigned __reduce_max_sync(unsigned, unsigned value) {
  const std::uint64_t* all = casync::compll::emulated::exchange("reduce_max", value);
  unsigned most = 0;
  for (unsigned lane = 0; lane < 32; ++lane) most = most < all[lane] ? static_cast<unsigned>(all[lane]) : most;
  return most;
}
inline unsigned __reduce_add_sync(unsigned, unsigned value) {
  const std::uint64_t* all = casync::compll::emulated::exchange("reduce_add", value);
  unsigned sum = 0;
  for (unsigned lane = 0; lane < 32; ++lane) sum += static_cast<unsigned>(all[lane]);
  return sum;
}
inline void __syncwarp() { casync::compll::emulated::exchange("syncwarp", 0); }
inline void __syncthreads() { casync::compll::emulated::wait_for_block(); }
inline int __syncthreads_or(int own) { return casync::compll::emulated::any_of_block(own != 0) ? 1 : 0; }
inline void __threadfence() { casync::compll::emulated::let_others_in(); }
inline void __nanosleep(unsigned) { casync::compll::emulated::wait_for_others(); }
inline int __ffs(int bits) { return bits == 0 ? 0 : std::countr_zero(static_cast<unsigned>(bits)) + 1; }
inline unsigned __popc(unsigned bits) { return static_cast<unsigned>(std::popcount(bits)); }

template <class T>
void __stcg(T* at, T value) {
  *at = value;
}

// One fibre runs at a time.
template <class T>
T atomicMax(T* at, T value) {
  casync::compll::emulated::let_others_in();
  const T before = *at;
  if (before < value) *at = value;
  return before;
}
template <class T>
T atomicExch(T* at, T value) {
  casync::compll::emulated::let_others_in();
  const T before = *at;
  *at = value;
  return before;
}
template <class T>
T atomicAdd(T* at, T value) {
  casync::compll::emulated::let_others_in();
  const T before = *at;
  *at += value;
  return before;
}
