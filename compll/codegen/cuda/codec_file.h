// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compll/codegen/text/writer.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// Begins a codec's text: the line that says where it comes from, headers of compll/ops/cuda, and its namespace.
void open_codec(Writer& out, const std::string& codec, const std::vector<std::string>& headers);
void close_codec(Writer& out, const std::string& codec);

/// Unimplemented: the program has more parameters than a kernel takes.
Status check_parameters(const Program& program, const Source& source);

}  // namespace casync::compll
