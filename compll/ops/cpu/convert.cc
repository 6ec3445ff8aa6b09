// SPDX-License-Identifier: Apache-2.0
#include "compll/ops/cpu/convert.h"

#include <cstring>

#include "compll/ops/cpu/half.h"

namespace casync::compll {

void to_float32(DType dtype, const void* in, Elements n, float* out) {
  if (n == 0) return;
  if (dtype == DType::kFloat32) {
    std::memcpy(out, in, n * sizeof(float));
  } else {
    const CodeTile codes{nullptr, static_cast<const std::byte*>(in)};
    decode_half(dtype, {&codes, 1}, n, out, Write::kPlain);
  }
}

void from_float32(const float* in, Elements n, DType dtype, void* out) {
  if (n == 0) return;
  if (dtype == DType::kFloat32) {
    std::memcpy(out, in, n * sizeof(float));
  } else {
    encode_half(dtype, Scaled{in}, n, static_cast<std::byte*>(out), nullptr, Write::kPlain);
  }
}

}  // namespace casync::compll
