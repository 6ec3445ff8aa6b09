// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ops/cuda/launch.h"

/// Marks functions of device and host: pure functions are tested without a GPU.
#define COMPLL_BOTH __host__ __device__ __forceinline__

namespace casync::compll::cuda {

/// Four neighbours, which one thread holds. With 32 bits each, they are one access to memory.
template <class T>
struct alignas(sizeof(T) == 4 ? 16 : sizeof(T)) Quad {
  T v[4];
  COMPLL_BOTH T& operator[](uint32_t k) { return v[k]; }
  COMPLL_BOTH const T& operator[](uint32_t k) const { return v[k]; }
};

template <class To, class From>
COMPLL_BOTH To same_bits(const From& from) {
  return __builtin_bit_cast(To, from);  // NVRTC has no <bit>
}

/// Tells the compiler that the address is not in shared memory: a pointer loaded from memory could point to either.
template <class T>
COMPLL_BOTH T* in_global(T* at) {
#ifdef __CUDA_ARCH__
  __builtin_assume(__isGlobal(at));
#endif
  return at;
}

/// Returns the same number, which the compiler can infer nothing about. CUDA 13.0's compiler (cicc, and NVRTC) dies of
/// a segmentation fault, four times in ten, if it compares the size of a segment with a part of it such as its half.
COMPLL_BOTH uint64_t opaque(uint64_t x) {
#ifdef __CUDA_ARCH__
  asm("" : "+l"(x));
#endif
  return x;
}

COMPLL_BOTH uint32_t bits(float x) { return same_bits<uint32_t>(x); }
COMPLL_BOTH float from_bits(uint32_t x) { return same_bits<float>(x); }

template <class T>
COMPLL_BOTH T least(T a, T b) {
  return b < a ? b : a;
}

}  // namespace casync::compll::cuda
