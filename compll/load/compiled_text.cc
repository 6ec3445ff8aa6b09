// SPDX-License-Identifier: Apache-2.0
#include "compll/load/compiled_text.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include "base/log.h"
#include "compll/load/cache.h"
#include "compll/load/compile_limit.h"
#include "compll/load/digest.h"
#include "compll/load/elf_file.h"
#include "compll/load/file_text.h"
#include "compll/load/headers.h"
#include "compll/load/run_program.h"
#include "compll/load/system_compiler.h"
#include "compll/ops/generated_coded.h"

namespace casync::compll {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kMostObject = 64_MiB;
// Words of a compiler's driver when a signal ended the compiler proper: g++, clang++.
constexpr const char* kCrashWords[] = {"signal terminated program", "internal compiler error",
                                       "unable to execute command"};
constexpr const char* kNoRoomWords[] = {"No space left on device", "Disk quota exceeded"};

/// The inputs of one text's compilation, and the name of the result.
struct Compilation {
  const CodecText& codec;
  SystemCompiler compiler;
  std::vector<std::string> flags;
  Headers headers;
  double seconds;
  std::string digest;
};

Result<Compilation> compilation_of(const CodecText& codec) {
  Result<SystemCompiler> compiler = find_compiler();
  if (!compiler) return compiler.status();
  Result<Headers> headers = find_headers();
  if (!headers) return headers.status();
  const Result<double> seconds = compile_seconds();
  if (!seconds) return seconds.status();
  DigestWriter digest;
  digest.add(codec.text).add(codec.function).add(compiler->identity).add(headers->digest);
  digest.add(std::to_string(kGeneratedVersion));
  const std::vector<std::string> flags = compiler_flags();
  for (const std::string& flag : flags) digest.add(flag);
  return Compilation{codec, *compiler, flags, *headers, *seconds, digest.text()};
}

/// The path at which a text that could not be compiled stays for inspection: the next try replaces it.
fs::path kept_text(const Compilation& with, const fs::path& folder) { return folder / (with.digest + ".cc"); }

bool says_any(const ProgramEnd& end, std::span<const char* const> all) {
  return std::any_of(all.begin(), all.end(),
                     [&](const char* words) { return end.said.find(words) != std::string::npos; });
}

bool crashed(const ProgramEnd& end) {
  return !end.too_late && (end.signal != 0 || (end.exit_code != 0 && says_any(end, kCrashWords)));
}

/// Runs the compiler, and once more after a crash: where its memory lies may be the reason.
Result<ProgramEnd> run_twice(const std::vector<std::string>& command, double seconds) {
  Result<ProgramEnd> end = run_program(command, seconds);
  return end && crashed(*end) ? run_program(command, seconds) : std::move(end);
}

/// Returns what is wrong with how the compiler ended or with what it made.
Status verdict(const Compilation& with, const ProgramEnd& end, const fs::path& object) {
  const std::string compiler = with.compiler.command.front();
  if (end.too_late) {
    std::ostringstream text;
    text << compiler << " was not ready after " << with.seconds << " s (CASYNC_COMPILE_SEC) and was ended";
    return timeout_error(text.str() + first_lines(end.said));
  }
  if (end.exit_code != 0) {
    const char* often = crashed(end) ? ", twice" : "";
    return compile_error(compiler + " " + text_of(end) + often + " on what was generated" + first_lines(end.said));
  }
  const Result<std::string> made = file_text(object, kMostObject);
  const Status whole = made ? check_elf(*made, own_machine()) : made.status();
  if (whole) return whole;
  return compile_error(compiler + " ended well, but what it made cannot be loaded: " + whole.message() +
                       first_lines(end.said));
}

/// Compiles `source` into `object`.
Status run_compiler(const Compilation& with, const fs::path& source, const fs::path& object) {
  std::vector<std::string> command = with.compiler.command;
  command.insert(command.end(), with.flags.begin(), with.flags.end());
  command.insert(command.end(), {"-I" + with.headers.folder, source.string(), "-o", object.string()});
  const Result<ProgramEnd> end = run_twice(command, with.seconds);
  if (!end) return compile_error(end.status().message());
  const Status status = verdict(with, *end, object);
  if (status) return status;
  // The disc's fault, and not the text's.
  if (is_full(source.parent_path()) || says_any(*end, kNoRoomWords)) {
    return unavailable(source.parent_path().string() + ": there is no room for what is compiled");
  }
  const fs::path kept = kept_text(with, source.parent_path());
  std::error_code error;
  fs::rename(source, kept, error);
  return Status(status.code(), status.message() + "\n  the text is " + kept.string());
}

/// Puts the entry into `folder`. Unavailable: the folder cannot be written.
Status build(const Compilation& with, const fs::path& folder) {
  remove_leftovers(folder);
  const std::string name = unique_name(with.digest);
  const fs::path source = folder / (name + ".cc"), object = folder / (name + ".so");
  Status status = write_new_file(source, with.codec.text);
  if (status) status = run_compiler(with, source, object);
  if (status) status = seal_entry(object, with.digest);
  std::error_code error;
  if (status) {
    fs::rename(object, entry_path(folder, with.digest), error);
    if (error) status = unavailable(object.string() + ": " + error.message());
  }
  fs::remove(source, error);
  fs::remove(status ? kept_text(with, folder) : object, error);
  return status;
}

/// The codec of a whole entry. Unavailable: it cannot be loaded. CompileError: it is of another version.
Result<const GeneratedCodec*> open_entry(const Compilation& with, const fs::path& path) {
  void* object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) return unavailable(::dlerror());
  const auto function = reinterpret_cast<const GeneratedCodec* (*)()>(::dlsym(object, with.codec.function.c_str()));
  const GeneratedCodec* codec = function == nullptr ? nullptr : function();
  if (codec != nullptr && fits_headers(*codec)) return codec;
  ::dlclose(object);
  return compile_error("what was compiled with the headers in " + with.headers.folder +
                       " does not fit this library: they are of another version of casync (CASYNC_INCLUDE_DIR)");
}

/// The same of an entry that was just built here.
Result<CompiledCodec> build_and_open(const Compilation& with, const fs::path& folder) {
  CASYNC_RETURN_IF_ERROR(build(with, folder));
  const fs::path path = entry_path(folder, with.digest);
  if (!is_entry(path, with.digest)) return unavailable(path.string() + ": it is not as it was just written");
  const Result<const GeneratedCodec*> codec = open_entry(with, path);
  if (!codec) return codec.status();
  return CompiledCodec{*codec, true};
}

/// The codec of an entry that is there, also if it cannot be loaded: a new one could not be either, as in a folder that
/// is mounted `noexec`. Nothing: there is no whole entry.
std::optional<Result<CompiledCodec>> found_entry(const Compilation& with, const fs::path& folder) {
  const fs::path path = entry_path(folder, with.digest);
  if (!is_entry(path, with.digest)) return std::nullopt;
  const Result<const GeneratedCodec*> codec = open_entry(with, path);
  return codec ? Result<CompiledCodec>(CompiledCodec{*codec}) : codec.status();
}

Result<CompiledCodec> from_cache(const Compilation& with) {
  const Result<fs::path> folder = cache_folder();
  if (!folder) return folder.status();
  if (auto found = found_entry(with, *folder)) return *found;
  const EntryLock lock(*folder, with.digest, with.seconds);
  // Another process may have made it while this one waited.
  if (auto found = found_entry(with, *folder)) return *found;
  return build_and_open(with, *folder);
}

/// Builds for this process alone, in a folder that no other user can replace: loading runs what is in it. A loaded
/// object stays when its file goes.
Result<CompiledCodec> for_this_process(const Compilation& with) {
  Result<PassingFolder> folder = PassingFolder::make();
  if (!folder) return folder.status();
  CASYNC_RETURN_IF_ERROR(check_ways(folder->path()));
  Result<CompiledCodec> codec = build_and_open(with, folder->path());
  std::error_code error;
  if (!codec && fs::exists(kept_text(with, folder->path()), error)) folder->keep();  // the message says where it is
  return codec;
}

}  // namespace

Result<CompiledCodec> compiled(const CodecText& codec) {
  const Result<Compilation> with = compilation_of(codec);
  if (!with) return with.status();
  static std::mutex mutex;
  static auto* const known = new std::map<std::string, const GeneratedCodec*>;  // outlives every static
  const std::lock_guard lock(mutex);
  if (const auto found = known->find(with->digest); found != known->end()) return CompiledCodec{found->second};
  Result<CompiledCodec> made = from_cache(*with);
  if (!made && made.status().code() == StatusCode::kUnavailable) {
    static std::once_flag once;
    std::call_once(once, [&] {
      log().warn("codecs are compiled anew in each process, their cache cannot be used: {}", made.status().message());
    });
    made = for_this_process(*with);
  }
  if (made) known->emplace(with->digest, made->codec);
  return made;
}

}  // namespace casync::compll
