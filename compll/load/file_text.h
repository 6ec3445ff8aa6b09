// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "base/status.h"
#include "base/units.h"
#include "compll/lang/source.h"

namespace casync::compll {

/// The most bytes of a codec's source.
inline constexpr Bytes kMostSource = 1_MiB;

/// The program that a codec's name denotes: the file, or the files that it joins (base/codec_file.h).
/// InvalidArgument: one of them is no file, there are more than two, or together they are over kMostSource.
Result<Source> program_source(const std::string& name);

/// The content of a file. InvalidArgument: no such file, not a file, over `most` bytes, or it cannot be read.
Result<std::string> file_text(const std::filesystem::path& path, Bytes most);

}  // namespace casync::compll
