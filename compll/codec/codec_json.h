// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "compll/codec/codec.h"

namespace casync::compll {

/// What a codec declares, as `casync codec info --json` and casync_codec_info hand it out. "ratio" is of float32;
/// "program" is the digest of a file.
nlohmann::ordered_json json_of(const CodecInfo& info);

}  // namespace casync::compll
