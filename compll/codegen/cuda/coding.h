// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "compll/codegen/text/writer.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// The header that write_cuda_coding() needs.
inline constexpr const char* kCodingHeader = "coded_payload";

/// Writes the kernels that code payloads and read them, casync_NAME_code and so on, and their table, which
/// casync_NAME_coding() returns; adds the kernels' names to `kernels`. Of a program without coded sections it writes
/// nothing.
void write_cuda_coding(const Program& program, Writer& out, std::vector<std::string>& kernels);

}  // namespace casync::compll
