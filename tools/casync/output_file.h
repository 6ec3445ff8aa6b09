// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"

namespace casync::tools {

/// Opens the file for writing and closes it again, so that a command can refuse a path early. An existing file
/// keeps its content, and no new file is left. "" is stdout. Unavailable: the path, and the system's reason.
Status check_writable(const std::string& path);

/// Replaces the file at once: whoever reads it finds the old text or the new one, and a full disk leaves the old one.
/// A device or a pipe, and a file in a folder that is not writable, gets the text as it is written. Unavailable: the
/// path, and the system's reason.
Status write_output(const std::string& path, const std::string& text);

}  // namespace casync::tools
