// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "compll/codec/codec.h"

namespace casync::compll {

/// The floats kept from step to step for each element of a gradient with these codecs of its hops. A residual belongs
/// to a slice: a rank encodes its gradient there or, as the owner, the sum, and one array does for both. With coded
/// terms the owner encodes its own gradient, too: each hop, and a result, has arrays of its own.
inline std::uint32_t kept_per_element(const CodecInfo& first, const CodecInfo& second) {
  if (!first.coded_terms && !second.coded_terms) return first.states != 0 ? first.states : second.states;
  return first.states + second.states + (first.has_result ? first.states : 0);
}

/// OK: one buffer may hold what this codec keeps from step to step. A task copies the old values, then writes the new
/// ones there.
/// PlanError: why it may not.
Status check_one_buffer(const CodecInfo& info);

/// The same for two buffers of bfloat16: only values that are not sent may be rounded.
Status check_bfloat16(const CodecInfo& info);

/// The codec that rounds kept values to one of the two nearest bfloat16, at random so that the mean is right. Rounding
/// to the nearest one would lose, in each step anew, values that are small compared with a residual. The payload is a
/// header and the elements.
std::unique_ptr<Codec> make_kept_bfloat16();
/// Returns the context of this rounding: its random numbers are others than those of the codec whose result it rounds.
EncodeContext kept_context(EncodeContext codecs);

}  // namespace casync::compll
