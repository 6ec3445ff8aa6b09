// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"

namespace casync::tools {

/// Opens the file for writing and closes it again, so that a command can refuse a path early. An existing file
/// keeps its content, and no new file is left. "" is stdout. Unavailable: the path, and the system's reason.
Status check_writable(const std::string& path);

/// Replaces the file's content. Unavailable: the path, and the system's reason.
Status write_output(const std::string& path, const std::string& text);

}  // namespace casync::tools
