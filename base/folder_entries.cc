// SPDX-License-Identifier: Apache-2.0
#include "base/folder_entries.h"

namespace casync {

std::vector<std::filesystem::directory_entry> folder_entries(const std::filesystem::path& folder,
                                                             std::error_code& error) {
  namespace fs = std::filesystem;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) entries.push_back(*i);
  return entries;
}

}  // namespace casync
