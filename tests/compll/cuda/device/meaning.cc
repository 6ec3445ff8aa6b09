// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/device/meaning.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "compll/interpreter/program_codec.h"
#include "compll/interpreter/rounds_program.h"
#include "compll/lang/front_end.h"

namespace casync::compll::test {
namespace {

template <class T>
T value_or_exit(Result<T> result) {
  if (result) return std::move(result).value();
  std::fprintf(stderr, "%s\n", result.status().text().c_str());
  std::exit(1);
}

Source source_of(const std::string& root, const std::string& name) {
  std::ifstream file(root + "/compll/codecs/" + name + ".cll");
  for (const char* folder :
       {"tests/compll/language/golden/", "tests/compll/cuda/programs/", "tests/compll/program/", "compll/cuda/"}) {
    if (!file.is_open()) file.open(root + "/" + folder + name + ".cll");
  }
  if (!file) {
    std::fprintf(stderr, "no codec %s below %s\n", name.c_str(), root.c_str());
    std::exit(1);
  }
  return Source(name + ".cll", {std::istreambuf_iterator<char>(file), {}});
}

std::shared_ptr<const Program> program_of(const std::string& root, const std::string& name) {
  return std::make_shared<const Program>(value_or_exit(compile(source_of(root, name))));
}

}  // namespace

std::unique_ptr<Codec> meaning_of(const std::string& root, const std::string& name, const Parameters& parameters) {
  return value_or_exit(make_program_codec(program_of(root, name), parameters));
}

std::unique_ptr<RoundsCodec> meaning_of_rounds(const std::string& root, const std::string& name,
                                               const Parameters& parameters) {
  return value_or_exit(make_rounds_program(program_of(root, name), parameters));
}

LeastBytes least_bytes_of(const std::string& root, const std::string& name) {
  const Source source = source_of(root, name);
  return least_bytes(value_or_exit(compile(source)), source);
}

}  // namespace casync::compll::test
