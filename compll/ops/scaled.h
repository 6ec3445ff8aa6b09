// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "base/units.h"

namespace casync::compll {

/// Values that are in memory only a few at a time.
class MadeValues {
 public:
  /// Returns the values from `first` on, valid until the next call: `count`, or as many as there are.
  virtual const float* make(Elements first, Elements count) = 0;

 protected:
  ~MadeValues() = default;
};

/// The vector an encoder works on, not yet computed: p[i] = scale * values[i] + residual[i]. Never contracted into
/// one fused multiply-add, so that every instruction set gets the same p.
struct Scaled {
  const float* values = nullptr;
  float scale = 1;
  const float* residual = nullptr;  ///< null: nothing is added
  MadeValues* made = nullptr;       ///< instead of `values`; for encoders in vector form only

  bool is_plain() const { return scale == 1 && residual == nullptr && made == nullptr; }
  Scaled from(Elements first) const {
    return {values + first, scale, residual == nullptr ? nullptr : residual + first};
  }
};

/// The way in which a kernel writes its floats. kStream bypasses the caches if nobody reads the floats soon, which
/// saves reading each line that is overwritten; it needs an address that is a multiple of 64.
enum class Write : unsigned char { kPlain, kStream, kAdd };

/// The exponent bits of float32: a magnitude of at least this much is infinite or NaN.
inline constexpr unsigned kFloat32Infinity = 0x7f800000;
/// The NaN that all codecs write.
inline constexpr unsigned kFloat32NaN = 0x7fc00000;

}  // namespace casync::compll
