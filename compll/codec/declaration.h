// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "compll/codec/codec.h"

namespace casync::compll {

/// What the registry knows of a codec before it makes one.
struct Declaration {
  CodecInfo info;  ///< without `values`; `parameters` as declared
  /// Makes the codec from `info` with `values` filled in and in their ranges.
  std::unique_ptr<Codec> (*make)(const CodecInfo&);
};

/// The value of the parameter called `name`, which has to be declared.
double value_of(const CodecInfo& info, const char* name);

/// `feedback`: 0 or 1.
CodecParameter feedback_parameter(bool initial);
/// `block`: a power of two.
CodecParameter block_parameter(Elements initial, Elements least);

/// Copies what the parameters `feedback` and `block` say, where declared, into the fields of those names.
void apply_parameters(CodecInfo& info);

}  // namespace casync::compll
