// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/own_path.h"

#include <filesystem>
#include <system_error>

namespace casync::tools {

Result<std::string> own_path() {
  constexpr const char* kLink = "/proc/self/exe";
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink(kLink, error);
  if (error) return unavailable(std::string(kLink) + ", the path of this program, cannot be read: " + error.message());
  return path.string();
}

}  // namespace casync::tools
