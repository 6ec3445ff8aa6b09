// SPDX-License-Identifier: Apache-2.0
//
// Codecs by name or by file.
#include <algorithm>
#include <map>
#include <mutex>
#include <sstream>

#include "base/codec_file.h"
#include "base/log.h"
#include "compll/codec/generated_codec.h"
#include "compll/codec/registry.h"
#include "compll/codec/rounds_info.h"
#include "compll/interpreter/program_codec.h"
#include "compll/interpreter/rounds_program.h"
#include "compll/lang/front_end.h"
#include "compll/load/digest.h"
#include "compll/load/file_program.h"
#include "compll/load/file_text.h"

namespace casync::compll {
namespace {

using Parameters = std::span<const std::pair<std::string, double>>;

/// What a file has become: compiled, or else to be interpreted.
struct Loaded {
  std::shared_ptr<const Program> program;
  const GeneratedCodec* generated = nullptr;
};

Result<Loaded> load(const std::string& path, const std::string& text, Parameters parameters) {
  const Result<FileProgram> read = read_program(path, text, parameters);
  if (!read) return read.status();
  if (!read->why_interpreted.empty()) {
    log().warn("codec {} is interpreted, which is slow: {}", read->program->declares.name, read->why_interpreted);
    return Loaded{read->program};
  }
  const Result<CompiledCodec> generated = compiled(read->codec);
  if (!generated) return Status(generated.status().code(), path + ": " + generated.status().message());
  return Loaded{read->program, generated->codec};
}

/// A session asks for the same codec for each of its gradients: what was loaded is remembered by what was read.
Result<Loaded> loaded_once(const std::string& path, Parameters parameters) {
  const Result<std::string> text = file_text(path, kMostSource);
  if (!text) return text.status();
  std::ostringstream values;
  values.precision(17);
  for (const auto& [name, value] : parameters) values << name << '=' << value << ',';
  const std::string key = DigestWriter().add(path).add(*text).add(values.str()).text();
  static std::mutex mutex;
  static auto* const known = new std::map<std::string, Loaded>;  // outlives every static
  const std::lock_guard lock(mutex);
  if (const auto found = known->find(key); found != known->end()) return found->second;
  Result<Loaded> loaded = load(path, *text, parameters);
  if (loaded) known->emplace(key, *loaded);
  return loaded;
}

}  // namespace

Result<std::unique_ptr<Codec>> make_codec(const std::string& name, Parameters parameters) {
  if (!is_codec_file(name)) return make_built_in_codec(name, parameters);
  const Result<Loaded> loaded = loaded_once(name, parameters);
  if (!loaded) return loaded.status();
  if (loaded->program->synchronize) return refuse_rounds(name);
  if (loaded->generated == nullptr) return make_program_codec(loaded->program, parameters);
  return make_generated_codec(*loaded->generated, parameters, loaded->program->declares.digest);
}

Result<std::unique_ptr<RoundsCodec>> make_rounds_codec(const std::string& name, Parameters parameters) {
  if (!is_codec_file(name)) return make_built_in_rounds_codec(name, parameters);
  const Result<Loaded> loaded = loaded_once(name, parameters);
  if (!loaded) return loaded.status();
  return make_rounds_program(loaded->program, parameters);
}

bool has_rounds(const std::string& name) {
  if (!is_codec_file(name)) {
    const std::vector<std::string> names = rounds_codec_names();
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  const Result<std::string> text = file_text(name, kMostSource);
  if (!text) return false;
  const Result<Program> program = compile(Source(name, *text));
  return program && program->synchronize.has_value();
}

}  // namespace casync::compll
