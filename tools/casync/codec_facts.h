// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "casync/model/codec_choice.h"
#include "casync/simulator/simulate.h"

namespace casync::tools {

/// The simulator's facts of a codec, from its own declaration. Errors as make_codec.
Result<CodecFacts> facts_of(const CodecChoice& choice);

}  // namespace casync::tools
