// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "casync/model/plan.h"

namespace casync::tools {

/// A codec as people write it on a command line: "int4" or "int4:block=64,feedback=0". Errors as
/// parse_named_numbers; whether there is such a codec is not asked here.
Result<CodecChoice> parse_codec_choice(std::string_view text);

/// And back.
std::string codec_text(const CodecChoice& choice);

}  // namespace casync::tools
