// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "compll/codegen/text/writer.h"

namespace casync::compll {

/// Begins a codec's text: the line that says where it comes from, headers of compll/ops/cuda, and its namespace.
void open_codec(Writer& out, const std::string& codec, const std::vector<std::string>& headers);
void close_codec(Writer& out, const std::string& codec);

}  // namespace casync::compll
