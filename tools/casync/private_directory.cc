// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/private_directory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace casync::tools {

Result<PrivateDirectory> PrivateDirectory::make() {
  const char* root = std::getenv("TMPDIR");
  std::string path = std::string(root != nullptr && *root != '\0' ? root : "/tmp") + "/casync-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {  // makes it with mode 0700
    return unavailable("cannot make a directory for the rendezvous (" + path + "): " + std::strerror(errno) +
                       "; set TMPDIR to a writable directory");
  }
  PrivateDirectory directory;
  directory.path_ = path;
  return directory;
}

PrivateDirectory::~PrivateDirectory() {
  std::error_code ignored;  // nothing better can be done with it on the way out
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace casync::tools
