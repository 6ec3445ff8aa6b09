// SPDX-License-Identifier: Apache-2.0
#include "base/own_folders.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <string>
#include <system_error>

namespace casync {

std::vector<std::filesystem::path> own_folders() {
  namespace fs = std::filesystem;
  Dl_info info{};
  void* map = nullptr;
  static const char here = 0;
  if (dladdr1(&here, &info, &map, RTLD_DL_LINKMAP) == 0) return {};
  // A program's own name is what its caller chose to write: only the system knows where it lies.
  const std::string name = static_cast<const link_map*>(map)->l_name;
  std::vector<fs::path> folders;
  if (!name.empty()) folders.push_back(fs::path(name).parent_path());
  std::error_code failed;
  const fs::path file = fs::canonical(name.empty() ? "/proc/self/exe" : name, failed);
  if (!failed && (folders.empty() || folders[0] != file.parent_path())) folders.push_back(file.parent_path());
  return folders;
}

std::vector<std::filesystem::path> library_folders() { return library_folders(own_folders(), CASYNC_LIBDIR); }

std::vector<std::filesystem::path> library_folders(const std::vector<std::filesystem::path>& own,
                                                   const std::string& libdir) {
  std::vector<std::filesystem::path> folders;
  for (const std::filesystem::path& folder : own) {
    const std::filesystem::path above = folder / "..";
    for (const std::filesystem::path& place :
         {folder, (above / "lib").lexically_normal(), (above / libdir).lexically_normal()}) {
      if (std::find(folders.begin(), folders.end(), place) == folders.end()) folders.push_back(place);
    }
  }
  return folders;
}

}  // namespace casync
