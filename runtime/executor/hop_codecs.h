// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "casync/primitives/primitive.h"
#include "compll/codec/codec.h"

namespace casync::runtime {

/// The codecs of a graph's buffers, by hop.
struct HopCodecs {
  std::unique_ptr<compll::Codec> first, second;  ///< the decision's
  std::unique_ptr<compll::Codec> raw;            ///< the gradient's own type
  std::unique_ptr<compll::Codec> sum;            ///< float32
  std::unique_ptr<compll::Codec> kept;           ///< rounds what is kept to bfloat16; null: it is float32

  const compll::Codec& of(Hop hop) const {
    switch (hop) {
      case Hop::kFirst: return *first;
      case Hop::kSecond: return *second;
      case Hop::kRaw: return *raw;
      case Hop::kSum: return *sum;
    }
    return *first;
  }
};

}  // namespace casync::runtime
