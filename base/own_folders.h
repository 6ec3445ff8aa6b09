// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

namespace casync {

/// The folders of the library or program that this function was linked into: the one it was loaded from, and the one
/// that links lead to. Files that are installed next to it are found from there.
std::vector<std::filesystem::path> own_folders();

}  // namespace casync
