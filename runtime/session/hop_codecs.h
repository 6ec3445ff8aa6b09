// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/dtype.h"
#include "base/status.h"
#include "casync/model/plan.h"
#include "casync/strategies/strategy.h"
#include "runtime/executor/gradient_run.h"

namespace casync::runtime {

/// The codec that `choice` means for gradients of this type: in half precision `none` is a cast to it.
CodecChoice for_dtype(CodecChoice choice, DType dtype);

/// Makes the codecs of a graph that carries out `decision`. InvalidArgument and others: as make_codec.
Result<HopCodecs> make_codecs(const Decision& decision, DType dtype);

/// Codec traits from the codecs themselves.
Result<CodecTraits> traits_of(const CodecChoice& choice);
/// decide()'s bits of codecs from the codecs themselves.
double payload_bits_of(const CodecChoice& choice);

}  // namespace casync::runtime
