// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"
#include "base/units.h"

namespace casync::runtime {

/// Reads a file that may hold a secret. InvalidArgument: not a regular file of this user's, readable or writable by
/// others, larger than `most`. Unavailable: cannot be read; `*absent` (may be null) says that it is not there.
Result<std::string> read_private_file(const std::string& path, Bytes most, bool* absent);
/// Returns true if a call with this errno found that a file is not there: no such file, or over NFS one that was
/// replaced while it was read.
bool is_absence(int error);

/// Makes the directory and those above it that are missing, mode 0700. InvalidArgument: what is there is not a
/// directory, belongs to somebody else, or lets others replace what is in it. Unavailable: cannot be made.
Status make_private_directory(const std::string& path);

}  // namespace casync::runtime
