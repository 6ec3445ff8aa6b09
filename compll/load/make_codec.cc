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
#include "compll/codec/rounds_generated.h"
#include "compll/codec/rounds_info.h"
#include "compll/codec/statistics.h"
#include "compll/interpreter/program_codec.h"
#include "compll/interpreter/rounds_program.h"
#include "compll/lang/front_end.h"
#include "compll/load/digest.h"
#include "compll/load/file_program.h"
#include "compll/load/file_text.h"
#include "compll/load/variants.h"

namespace casync::compll {
namespace {

using Parameters = std::span<const std::pair<std::string, double>>;

/// A loaded file: compiled, or else to be interpreted.
struct Loaded {
  std::shared_ptr<const Program> program;
  const GeneratedCodec* generated = nullptr;
};

Result<Loaded> load(const Source& source, Parameters parameters) {
  const std::string& path = source.name();
  const Result<FileProgram> read = read_program(source, parameters);
  if (!read) return read.status();
  if (!read->why_interpreted.empty()) {
    log().warn("codec {} is interpreted, which is slow: {}", read->program->declares.name, read->why_interpreted);
    return Loaded{read->program};
  }
  const Result<CompiledCodec> generated = compiled(read->codec);
  if (!generated) return Status(generated.status().code(), path + ": " + generated.status().message());
  return Loaded{read->program, generated->codec};
}

/// A session asks for the same codec for each of its gradients: loaded codecs are remembered by their source.
Result<Loaded> loaded_once(const Source& source, Parameters parameters) {
  std::ostringstream values;
  values.precision(17);
  for (const auto& [name, value] : parameters) values << name << '=' << value << ',';
  const std::string key = DigestWriter().add(source.name()).add(source.text()).add(values.str()).text();
  static std::mutex mutex;
  static auto* const known = new std::map<std::string, Loaded>;  // outlives every static
  const std::lock_guard lock(mutex);
  if (const auto found = known->find(key); found != known->end()) return found->second;
  Result<Loaded> loaded = load(source, parameters);
  if (loaded) known->emplace(key, *loaded);
  return loaded;
}

Result<Loaded> loaded_file(const std::string& path, Parameters parameters) {
  const Result<Source> source = program_source(path);
  if (!source) return source.status();
  return loaded_once(*source, parameters);
}

Result<std::unique_ptr<Codec>> codec_of(const Loaded& loaded, Parameters parameters,
                                        StatisticsCheck check_statistics = nullptr) {
  if (loaded.generated == nullptr) return make_program_codec(loaded.program, parameters);
  return make_generated_codec(*loaded.generated, parameters, loaded.program->declares.digest, check_statistics);
}

/// Returns true if a program has rounds, by its text alone: a session asks for each of its gradients.
bool exchanges(const Source& source) {
  static std::mutex mutex;
  static auto* const known = new std::map<std::string, bool>;  // outlives every static
  const std::string key = DigestWriter().add(source.text()).text();
  const std::lock_guard lock(mutex);
  if (const auto found = known->find(key); found != known->end()) return found->second;
  return known->emplace(key, has_synchronize(source)).first->second;
}

}  // namespace

Result<std::unique_ptr<Codec>> make_codec(const std::string& name, Parameters parameters) {
  if (!is_codec_file(name)) {
    const std::string_view source = source_of_variant(name, parameters);
    if (source.empty()) return make_built_in_codec(name, parameters);
    const Result<Loaded> loaded = loaded_once(Source(name + ".cll", std::string(source)), parameters);
    if (!loaded) return loaded.status();
    return codec_of(*loaded, parameters, statistics_check_of(name));
  }
  const Result<Loaded> loaded = loaded_file(name, parameters);
  if (!loaded) return loaded.status();
  if (loaded->program->synchronize) return refuse_rounds(name);
  return codec_of(*loaded, parameters);
}

Result<std::unique_ptr<RoundsCodec>> make_rounds_codec(const std::string& name, Parameters parameters) {
  if (!is_codec_file(name)) return make_built_in_rounds_codec(name, parameters);
  const Result<Loaded> loaded = loaded_file(name, parameters);
  if (!loaded) return loaded.status();
  if (!loaded->program->synchronize) return invalid_argument(name + ": this codec does not exchange in rounds");
  if (loaded->generated == nullptr) return make_rounds_program(loaded->program, parameters);
  return make_generated_rounds(*loaded->generated, parameters, loaded->program->declares.digest);
}

bool has_rounds(const std::string& name) {
  if (!is_codec_file(name)) {
    const std::vector<std::string> names = rounds_codec_names();
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  const Result<Source> source = program_source(name);
  return source && exchanges(*source);
}

}  // namespace casync::compll
