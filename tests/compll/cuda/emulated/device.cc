// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/emulated/device.h"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace casync::compll::test {

std::string text_of_program(const std::string& name) {
  for (const std::vector<std::string>& built_in : {written_names(), written_round_names()}) {
    if (std::find(built_in.begin(), built_in.end(), name) != built_in.end()) return source_of(name);
  }
  std::ifstream file;
  for (const char* folder :
       {"/language/golden/", "/cuda/programs/", "/program/", "/../../compll/cuda/", "/../../compll/codecs/"}) {
    if (!file.is_open()) file.open(std::string(CASYNC_PROGRAMS) + folder + name + ".cll");
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

Written meaning_of(const std::string& name, const Parameters& parameters) {
  return from_text(name, text_of_program(name), parameters);
}

std::unique_ptr<RoundsCodec> meaning_of_rounds(const std::string& name, const Parameters& parameters) {
  return rounds_from_text(name, text_of_program(name), parameters);
}

}  // namespace casync::compll::test
