// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/random_programs/shared_object.h"

#include <dlfcn.h>

#include <filesystem>
#include <fstream>

#include "compll/load/cache.h"
#include "compll/load/digest.h"
#include "compll/load/run_program.h"
#include "compll/load/system_compiler.h"

namespace casync::compll::test {
namespace {

namespace fs = std::filesystem;

constexpr double kSeconds = 1800;

Status run_compiler(const SystemCompiler& compiler, const ObjectText& of, const std::string& folder,
                    const fs::path& object) {
  const std::string source = folder + "/batch.cc";
  std::ofstream(source) << of.text;
  std::vector<std::string> command = compiler.command;
  command.insert(command.end(), of.flags.begin(), of.flags.end());
  command.insert(command.end(), {"-I" + of.headers.folder, source, "-o", object.string()});
  const Result<ProgramEnd> end = run_program(command, kSeconds);
  if (!end) return end.status();
  if (end->exit_code == 0 && !end->too_late) return Status::ok();
  return compile_error("the compiler ended with " + std::to_string(end->exit_code) + ":\n" + end->said);
}

std::string digest_of(const SystemCompiler& compiler, const ObjectText& of) {
  DigestWriter digest;
  digest.add(of.text).add(compiler.identity).add(of.headers.digest);
  for (const std::string& flag : of.flags) digest.add(flag);
  return digest.text();
}

/// The path of the shared object, among those that are kept.
Result<fs::path> kept_object(const SystemCompiler& compiler, const ObjectText& of, const std::string& folder) {
  const Result<fs::path> cache = cache_folder();
  if (!cache) return cache.status();
  const std::string digest = digest_of(compiler, of);
  const fs::path entry = entry_path(*cache, digest), made = *cache / (unique_name(digest) + ".so");
  if (is_entry(entry, digest)) return entry;
  CASYNC_RETURN_IF_ERROR(run_compiler(compiler, of, folder, made));
  CASYNC_RETURN_IF_ERROR(seal_entry(made, digest));
  fs::rename(made, entry);
  return entry;
}

Result<fs::path> passing_object(const SystemCompiler& compiler, const ObjectText& of, const std::string& folder) {
  const fs::path object = folder + "/batch.so";
  CASYNC_RETURN_IF_ERROR(run_compiler(compiler, of, folder, object));
  return object;
}

}  // namespace

Result<void*> load_object(const ObjectText& of, bool kept, const std::string& folder) {
  const Result<SystemCompiler> compiler = find_compiler();
  if (!compiler) return compiler.status();
  const Result<fs::path> object = kept ? kept_object(*compiler, of, folder) : passing_object(*compiler, of, folder);
  if (!object) return object.status();
  void* const loaded = ::dlopen(object->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) return compile_error(::dlerror());
  return loaded;
}

}  // namespace casync::compll::test
