// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "base/status.h"
#include "base/units.h"

namespace casync::compll {

/// The most bytes of a codec's source.
inline constexpr Bytes kMostSource = 1_MiB;

/// What a file has. InvalidArgument: no such file, not a file, over `most` bytes, or it cannot be read.
Result<std::string> file_text(const std::filesystem::path& path, Bytes most);

}  // namespace casync::compll
