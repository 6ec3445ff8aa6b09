// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "compll/codec/codec.h"

namespace casync::compll {

/// A codec's declaration as JSON, for `casync codec info --json` and casync_codec_info. "ratio" is relative to float32;
/// "program" is the digest of a file.
nlohmann::ordered_json json_of(const CodecInfo& info);

}  // namespace casync::compll
