// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/support/programs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "base/check.h"
#include "compll/codec/registry.h"
#include "compll/interpreter/program_codec.h"
#include "compll/interpreter/rounds_program.h"
#include "compll/lang/front_end.h"

namespace casync::compll {
namespace {

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.status().text());
  return std::move(result).value();
}

/// `compll/codecs/int8` or `compll/lang/check/prelude`, below the project's folder.
std::string text_of_file(const std::string& name) {
  const std::string path = std::string(CASYNC_SOURCES) + "/" + name + ".cll";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> names_of_files(bool rounds) {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(std::string(CASYNC_SOURCES) + "/compll/codecs")) {
    const std::string name = file.path().stem().string();
    if (file.path().extension() != ".cll" || !check_no_patch(name) || !check_no_exchange(name)) continue;
    if ((source_of(name).find("\nvoid synchronize(") != std::string::npos) == rounds) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::shared_ptr<const Program> program_of(const std::string& name, const std::string& text,
                                          const Parameters& parameters) {
  // `feedback` belongs to the codec, not to its program.
  KnownParameters known(parameters.begin(), parameters.end());
  known.erase("feedback");
  const Source source(name + ".cll", text);
  return std::make_shared<const Program>(value_or_throw(compile(source, known)));
}

}  // namespace

std::vector<std::string> written_names() { return names_of_files(false); }

std::vector<std::string> written_round_names() { return names_of_files(true); }

std::string source_of(const std::string& name) { return text_of_file("compll/codecs/" + name); }

std::string whole_source_of(const std::string& name) {
  return text_of_file("compll/lang/check/prelude") + source_of(name);
}

std::string test_program(const std::string& name) { return text_of_file("tests/compll/program/" + name); }

Written from_text(const std::string& name, const std::string& text, const Parameters& parameters) {
  const auto program = program_of(name, text, parameters);
  return {program, value_or_throw(make_program_codec(program, parameters))};
}

Written from_source(const std::string& name, const Parameters& parameters) {
  return from_text(name, source_of(name), parameters);
}

std::unique_ptr<RoundsCodec> rounds_from_text(const std::string& name, const std::string& text,
                                              const Parameters& parameters) {
  return value_or_throw(make_rounds_program(program_of(name, text, parameters), parameters));
}

std::unique_ptr<RoundsCodec> rounds_from_source(const std::string& name, const Parameters& parameters) {
  return rounds_from_text(name, source_of(name), parameters);
}

std::string changed(std::string text, const std::string& before, const std::string& after) {
  std::size_t at = text.find(before);
  CASYNC_CHECK(at != text.npos);
  for (; at != text.npos; at = text.find(before, at + after.size())) text.replace(at, before.size(), after);
  return text;
}

}  // namespace casync::compll
