// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/emulated/device.h"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace casync::compll::test {

Written meaning_of(const std::string& name, const Parameters& parameters) {
  const std::vector<std::string> built_in = written_names();
  if (std::find(built_in.begin(), built_in.end(), name) != built_in.end()) return from_source(name, parameters);
  std::ifstream file(std::string(CASYNC_PROGRAMS) + "/language/golden/" + name + ".cll");
  for (const char* folder : {"/cuda/programs/", "/program/"}) {
    if (!file) file.open(std::string(CASYNC_PROGRAMS) + folder + name + ".cll");
  }
  return from_text(name, {std::istreambuf_iterator<char>(file), {}}, parameters);
}

}  // namespace casync::compll::test
