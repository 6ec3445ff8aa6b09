// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <system_error>
#include <vector>

namespace casync {

/// The entries of a folder, in no order: all, or those ahead of an error, which `error` has then. A loop over the
/// iterators of the standard library throws an error that comes after the first entry, such as one of a network disk.
std::vector<std::filesystem::directory_entry> folder_entries(const std::filesystem::path& folder,
                                                             std::error_code& error);

}  // namespace casync
