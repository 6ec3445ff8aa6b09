// SPDX-License-Identifier: Apache-2.0
#include "tests/support/golden.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

namespace casync::test {

std::string golden(const std::string& name, const std::string& actual) {
  const std::string path = std::string(CASYNC_GOLDEN_DIR) + "/" + name;
  const char* update = std::getenv("CASYNC_UPDATE_GOLDEN");
  if (update && std::string_view(update) == "1") std::ofstream(path, std::ios::binary) << actual;
  std::ifstream file(path, std::ios::binary);
  if (!file) return "no file " + path + "; CASYNC_UPDATE_GOLDEN=1 writes it";
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace casync::test
