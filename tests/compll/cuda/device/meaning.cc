// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/device/meaning.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "compll/interpreter/program_codec.h"
#include "compll/lang/front_end.h"

namespace casync::compll::test {
namespace {

template <class T>
T value_or_exit(Result<T> result) {
  if (result) return std::move(result).value();
  std::fprintf(stderr, "%s\n", result.status().text().c_str());
  std::exit(1);
}

}  // namespace

std::unique_ptr<Codec> meaning_of(const std::string& root, const std::string& name, const Parameters& parameters) {
  std::ifstream file(root + "/compll/codecs/" + name + ".cll");
  for (const char* folder : {"language/golden/", "cuda/programs/", "program/"}) {
    if (!file) file.open(root + "/tests/compll/" + folder + name + ".cll");
  }
  if (!file) {
    std::fprintf(stderr, "no codec %s below %s\n", name.c_str(), root.c_str());
    std::exit(1);
  }
  const Source source(name + ".cll", {std::istreambuf_iterator<char>(file), {}});
  const auto program = std::make_shared<const Program>(value_or_exit(compile(source)));
  return value_or_exit(make_program_codec(program, parameters));
}

}  // namespace casync::compll::test
