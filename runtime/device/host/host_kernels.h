// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "compll/codec/rounds_codec.h"
#include "runtime/device/codec_kernels.h"

namespace casync::runtime {

/// The host's codec by the contract of a device's: it is done when issue() returns. Borrows the codec.
std::unique_ptr<CodecKernels> make_host_kernels(const compll::Codec& codec);
std::unique_ptr<TurnKernels> make_host_turns(const compll::RoundsCodec& codec);

}  // namespace casync::runtime
