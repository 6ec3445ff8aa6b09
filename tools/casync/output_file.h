// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include "base/status.h"

namespace casync::tools {

/// Opens the file for writing and closes it again, so that a command can refuse a path early. An existing file
/// keeps its content, and no new file is left. A pipe is not opened, as its reader would find its end. "" is stdout.
/// Unavailable: the path, and the system's reason.
Status check_writable(const std::string& path);

/// Replaces the file at once: whoever reads it finds the old text or the new one, and a full disk leaves the old one.
/// A device or a pipe, and a file in a folder that is not writable, gets the text as it is written. Unavailable: the
/// path, and the system's reason.
Status write_output(const std::string& path, const std::string& text);
/// The same of a text that is too long to be in memory: `write` writes it.
Status write_output(const std::string& path, const std::function<void(std::ostream&)>& write);

}  // namespace casync::tools
