// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace casync {

/// The folders of the library or program that this function was linked into: the one it was loaded from, and the one
/// that links lead to. Files that are installed next to it are found from there.
std::vector<std::filesystem::path> own_folders();

/// The folders that may hold the other parts of an installation, each once, in the order in which they are searched:
/// each of own_folders(), and next to it `lib` and the folder of libraries that this build installs to
/// (CMAKE_INSTALL_LIBDIR, such as `lib64`).
std::vector<std::filesystem::path> library_folders();
/// The same for the folders `own` and the folder of libraries `libdir`.
std::vector<std::filesystem::path> library_folders(const std::vector<std::filesystem::path>& own,
                                                   const std::string& libdir);

}  // namespace casync
