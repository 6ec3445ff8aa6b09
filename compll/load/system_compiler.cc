// SPDX-License-Identifier: Apache-2.0
#include "compll/load/system_compiler.h"

#include <hwy/targets.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <sstream>

#include "base/env.h"

namespace casync::compll {
namespace {

constexpr const char* kNames[] = {"c++", "g++", "clang++"};
constexpr const char* kInstall =
    "install one (Debian: apt-get install g++) or name one by CXX; built-in codecs need none";

/// A program as a shell finds it: a path, or a name in PATH.
std::optional<std::string> find_program(const std::string& name) {
  const auto runs = [](const std::string& path) {
    struct stat info = {};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != name.npos) return runs(name) ? std::optional(name) : std::nullopt;
  std::istringstream folders(foreign_env_text("PATH").value_or(""));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = (folder.empty() ? "." : folder) + "/" + name;
    if (runs(path)) return path;
  }
  return std::nullopt;
}

/// Identifies it without asking for its version, which takes longer than all else about a codec in the cache.
std::string identity_of(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path file = std::filesystem::canonical(path, failed);
  struct stat info = {};
  if (failed || ::stat(file.c_str(), &info) != 0) return path;
  return file.string() + " " + std::to_string(info.st_size) + " " + std::to_string(info.st_mtim.tv_sec) + "." +
         std::to_string(info.st_mtim.tv_nsec);
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string no_compiler(const std::string& tried) {
  return "a codec's file is compiled by the machine's C++ compiler, and there is none: tried " + tried + "; " +
         kInstall;
}

}  // namespace

Result<SystemCompiler> find_compiler() {
  std::string tried;
  if (const auto wanted = foreign_env_text("CXX")) {
    std::vector<std::string> words = words_of(*wanted);
    const auto path = words.empty() ? std::nullopt : find_program(words[0]);
    if (!path) return unavailable(no_compiler("CXX=" + *wanted));
    words[0] = *path;
    std::string identity = identity_of(*path);
    // A wrapper's compiler is the next word.
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto wrapped = find_program(words[i]);
      identity += " " + (wrapped ? identity_of(*wrapped) : words[i]);
    }
    return SystemCompiler{std::move(words), identity};
  }
  for (const char* name : kNames) {
    if (const auto path = find_program(name)) return SystemCompiler{{*path}, identity_of(*path)};
    tried += (tried.empty() ? "" : ", ") + std::string(name);
  }
  return unavailable(no_compiler(tried + " in PATH=" + foreign_env_text("PATH").value_or("")));
}

std::vector<std::string> compiler_flags() {
  std::vector<std::string> flags = {
      "-std=c++20",
      "-O3",
      "-fPIC",
      "-shared",
      "-w",
      "-ffp-contract=off",
      "-fwrapv",
      "-fvisibility=hidden",
      "-DHWY_COMPILE_ONLY_STATIC",
      "-DHWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128|HWY_RVV)"};
#if HWY_ARCH_X86
  struct Row {
    std::int64_t target;
    const char* machine;
  };
  // The oldest processor that has all of what Highway takes together as one target, best first.
  for (const Row& row :
       {Row{HWY_AVX3, "-march=skylake-avx512"}, Row{HWY_AVX2, "-march=haswell"}, Row{HWY_SSE4, "-march=westmere"}}) {
    if ((hwy::SupportedTargets() & row.target) == 0) continue;
    flags.insert(flags.end(), {row.machine, "-maes", "-mpclmul"});
    break;
  }
#endif
  return flags;
}

}  // namespace casync::compll
