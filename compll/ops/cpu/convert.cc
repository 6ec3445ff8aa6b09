// SPDX-License-Identifier: Apache-2.0
#include "compll/ops/cpu/convert.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "compll/ops/cpu/half.h"

namespace casync::compll {
namespace {

/// The bits of the least magnitude that becomes infinite.
std::uint32_t least_infinite(DType dtype) {
  if (dtype == DType::kFloat16) return 0x477ff000;   // 65520, in the middle between 65504 and 65536
  if (dtype == DType::kBFloat16) return 0x7f7f8000;  // in the middle between the largest bfloat16 and 2^128
  return 0x7f800000;
}

}  // namespace

void to_float32(DType dtype, const void* in, Elements n, float* out) {
  if (n == 0) return;
  if (dtype == DType::kFloat32) {
    std::memcpy(out, in, n * sizeof(float));
  } else {
    const CodeTile codes{nullptr, static_cast<const std::byte*>(in)};
    decode_half(dtype, {&codes, 1}, n, out, Write::kPlain);
  }
}

bool from_float32(const float* in, Elements n, DType dtype, void* out) {
  if (n == 0) return true;
  if (dtype != DType::kFloat32) {
    return encode_half(dtype, Scaled{in}, n, static_cast<std::byte*>(out), nullptr, Write::kPlain);
  }
  std::memcpy(out, in, n * sizeof(float));
  return true;
}

bool stays_finite(const float* in, Elements n, DType dtype) {
  std::uint32_t greatest = 0;  // magnitudes are in the order of their bits, and NaN is above all
  for (Elements i = 0; i < n; ++i) greatest = std::max(greatest, std::bit_cast<std::uint32_t>(in[i]) & 0x7fffffffU);
  return greatest < least_infinite(dtype);
}

}  // namespace casync::compll
