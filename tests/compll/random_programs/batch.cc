// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/random_programs/batch.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compll/codegen/cpu/cpu.h"
#include "compll/load/cache.h"
#include "compll/load/digest.h"
#include "compll/load/headers.h"
#include "compll/load/run_program.h"
#include "compll/load/system_compiler.h"

namespace casync::compll::test {
namespace {

namespace fs = std::filesystem;

constexpr double kSeconds = 1800;
// Without optimization it saves a seventh of the time if programs share the functions that they call.
constexpr const char* kSharedFunctions = "#include <hwy/base.h>\n#undef HWY_INLINE\n#define HWY_INLINE inline\n";

void replace_all(std::string& text, const std::string& before, const std::string& after) {
  for (std::size_t at = 0; (at = text.find(before, at)) != text.npos; at += after.size()) {
    text.replace(at, before.size(), after);
  }
}

/// The text for one instruction set.
std::string for_one_set(const std::string& text) {
  std::istringstream lines(text);
  std::string kept, line;
  while (std::getline(lines, line)) {
    const bool several_sets = line.find("HWY_TARGET_INCLUDE") != line.npos ||
                              line.find("foreach_target.h") != line.npos || line.starts_with("HWY_EXPORT(");
    if (!several_sets) kept += line + "\n";
  }
  replace_all(kept, "HWY_DYNAMIC_DISPATCH(", "HWY_STATIC_DISPATCH(");
  return kept;
}

std::vector<std::string> flags_of(const CompilerSettings& settings) {
  std::vector<std::string> flags = compiler_flags();
  const auto replace = [&](const std::string& start, const std::vector<std::string>& by) {
    std::erase_if(flags, [&](const std::string& flag) { return flag.starts_with(start); });
    flags.insert(flags.end(), by.begin(), by.end());
  };
  if (!settings.optimized) replace("-O", {"-O0"});
  if (settings.instruction_set == "avx2") replace("-march=", {"-march=haswell"});
  if (settings.instruction_set == "sse4") replace("-march=", {"-march=westmere"});
  if (settings.instruction_set == "plain") {
    replace("-march=", {});
    replace("-maes", {});
    replace("-mpclmul", {});
    replace("-DHWY_COMPILE_ONLY_STATIC", {"-DHWY_COMPILE_ONLY_EMU128"});
  }
  return flags;
}

std::string text_of(const std::vector<std::string>& names, const std::vector<std::string>& texts,
                    const CompilerSettings& settings) {
  std::string text = settings.optimized ? "" : kSharedFunctions;
  for (const std::string& name : names) text += visible_declaration(name);
  for (const std::string& each : texts) text += for_one_set(each) + "\n";
  return text;
}

/// The inputs of a compilation, and the name that its result has among those that are kept.
struct Compilation {
  std::string text;
  std::vector<std::string> command;  ///< without the names of files
  std::string digest;
};

Result<Compilation> compilation_of(std::string text, const CompilerSettings& settings) {
  const Result<SystemCompiler> compiler = find_compiler();
  if (!compiler) return compiler.status();
  const Result<Headers> headers = find_headers();
  if (!headers) return headers.status();
  std::vector<std::string> command = compiler->command;
  DigestWriter digest;
  digest.add(text).add(compiler->identity).add(headers->digest);
  for (const std::string& flag : flags_of(settings)) {
    digest.add(flag);
    command.push_back(flag);
  }
  command.push_back("-I" + headers->folder);
  return Compilation{std::move(text), std::move(command), digest.text()};
}

Status run_compiler(const Compilation& with, const std::string& folder, const fs::path& object) {
  const std::string source = folder + "/batch.cc";
  std::ofstream(source) << with.text;
  std::vector<std::string> command = with.command;
  command.insert(command.end(), {source, "-o", object.string()});
  const Result<ProgramEnd> end = run_program(command, kSeconds);
  if (!end) return end.status();
  if (end->exit_code == 0 && !end->too_late) return Status::ok();
  return compile_error("the compiler ended with " + std::to_string(end->exit_code) + ":\n" + end->said);
}

/// The path of the shared object, among those that are kept.
Result<fs::path> kept_object(const Compilation& with, const std::string& folder) {
  const Result<fs::path> cache = cache_folder();
  if (!cache) return cache.status();
  const fs::path entry = entry_path(*cache, with.digest), made = *cache / (unique_name(with.digest) + ".so");
  if (is_entry(entry, with.digest)) return entry;
  CASYNC_RETURN_IF_ERROR(run_compiler(with, folder, made));
  CASYNC_RETURN_IF_ERROR(seal_entry(made, with.digest));
  fs::rename(made, entry);
  return entry;
}

Result<fs::path> passing_object(const Compilation& with, const std::string& folder) {
  const fs::path object = folder + "/batch.so";
  CASYNC_RETURN_IF_ERROR(run_compiler(with, folder, object));
  return object;
}

}  // namespace

Result<std::vector<const GeneratedCodec*>> compile_batch(const std::vector<std::string>& names,
                                                         const std::vector<std::string>& texts,
                                                         const CompilerSettings& settings, const std::string& folder) {
  const Result<Compilation> with = compilation_of(text_of(names, texts, settings), settings);
  if (!with) return with.status();
  const Result<fs::path> object = settings.kept ? kept_object(*with, folder) : passing_object(*with, folder);
  if (!object) return object.status();
  void* const loaded = ::dlopen(object->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) return compile_error(::dlerror());
  std::vector<const GeneratedCodec*> codecs;
  for (const std::string& name : names) {
    const auto function = reinterpret_cast<const GeneratedCodec* (*)()>(::dlsym(loaded, generated_name(name).c_str()));
    if (function == nullptr) return compile_error(name + " is not in its shared object");
    codecs.push_back(function());
  }
  return codecs;
}

}  // namespace casync::compll::test
