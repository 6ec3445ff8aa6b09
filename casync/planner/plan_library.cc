// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/plan_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <vector>

#include "base/env.h"
#include "base/own_folders.h"
#include "base/sanitizers.h"
#include "casync/planner/plan_module.h"

namespace casync {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kMostFileBytes = 16_MiB;

// TensorFlow exports a protobuf of its own to the whole process. With RTLD_DEEPBIND the module finds the one that it
// was built with. Sanitizers refuse the flag.
#if CASYNC_SANITIZED
constexpr int kModuleMode = RTLD_NOW | RTLD_LOCAL;
#else
constexpr int kModuleMode = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

std::vector<fs::path> module_places() {
  std::vector<fs::path> places;
  if (const auto wanted = env_text("CASYNC_LIB_DIR")) places.push_back(fs::path(*wanted) / kPlanModule);
  for (const fs::path& folder : library_folders()) places.push_back(folder / kPlanModule);
  return places;
}

}  // namespace

Result<void*> plan_library_function(const char* name, const std::string& wanted) {
  // The loader has a lock of its own, which the thread sanitizer does not see: what the module and libprotobuf make
  // when they are loaded, threads that come later find made.
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  std::string tried;
  for (const fs::path& place : module_places()) {
    void* module = dlopen(place.c_str(), kModuleMode);
    void* function = module == nullptr ? nullptr : dlsym(module, name);
    if (function != nullptr) return function;
    const char* why = dlerror();
    tried += "\n  " + place.string() + ": " + (why == nullptr ? "unknown error" : why);
  }
  return unavailable(
      wanted + " are read by " + kPlanModule +
      ", which cannot be loaded (CASYNC_LIB_DIR names its folder; it needs libprotobuf). Tried:" + tried);
}

Result<std::string> text_of_input(const std::string& what, const std::string& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (!fs::exists(status)) return invalid_argument(what + " " + path + ": no such file");
  if (!fs::is_regular_file(status)) return invalid_argument(what + " " + path + ": not a file");
  const auto size = fs::file_size(path, failed);
  if (failed) return invalid_argument(what + " " + path + ": " + failed.message());
  if (size > kMostFileBytes) {
    return invalid_argument(what + " " + path + ": " + std::to_string(size) + " bytes, expected at most " +
                            std::to_string(kMostFileBytes));
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return invalid_argument(what + " " + path + ": cannot be read (permissions?)");
  // Reads no further than the size just seen: the file may be growing.
  std::string text(size, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(size));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

}  // namespace casync
