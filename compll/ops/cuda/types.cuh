// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ops/cuda/launch.h"

/// Of device and host: what is pure is tested where there is no GPU.
#define COMPLL_BOTH __host__ __device__ __forceinline__

namespace casync::compll::cuda {

/// Four neighbours, which one thread holds. Of 32 bits they are one access to memory.
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

/// Says that it is not shared memory: pointers that come out of memory could be either.
template <class T>
COMPLL_BOTH T* in_global(T* at) {
#ifdef __CUDA_ARCH__
  __builtin_assume(__isGlobal(at));
#endif
  return at;
}

COMPLL_BOTH uint32_t bits(float x) { return same_bits<uint32_t>(x); }
COMPLL_BOTH float from_bits(uint32_t x) { return same_bits<float>(x); }

template <class T>
COMPLL_BOTH T least(T a, T b) {
  return b < a ? b : a;
}

}  // namespace casync::compll::cuda
