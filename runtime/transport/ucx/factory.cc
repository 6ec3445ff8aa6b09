// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/factory.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fmt/core.h>

#include "base/env.h"
#include "runtime/transport/ucx/module.h"

namespace casync::runtime {
namespace {

namespace fs = std::filesystem;

fs::path folder_of_this_code() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&make_ucx), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code ignored;
  return fs::canonical(info.dli_fname, ignored).parent_path();
}

// The folders that have the module: the user's, this library's own (a wheel), lib next to bin, and the build tree's.
std::vector<fs::path> candidates() {
  std::vector<fs::path> found;
  const auto consider = [&](const fs::path& folder) {
    std::error_code ignored;
    if (fs::exists(folder / kUcxModuleFile, ignored)) found.push_back(folder / kUcxModuleFile);
  };
  if (const auto folder = env_text("CASYNC_LIB_DIR")) consider(*folder);
  const fs::path here = folder_of_this_code();
  for (const char* relative : {".", "../lib", "../../lib"}) consider((here / relative).lexically_normal());
  return found;
}

// UCX reads these while it is being loaded. Older versions install signal handlers otherwise, which would take
// those of the host program's place.
void prepare_environment(const fs::path& module) {
  setenv("UCX_HANDLE_ERRORS", "none", 0);
  setenv("UCX_DEBUG_SIGNO", "0", 0);
  const fs::path ucx_modules = module.parent_path() / "ucx";
  std::error_code ignored;
  if (fs::is_directory(ucx_modules, ignored)) setenv("UCX_MODULE_DIR", ucx_modules.c_str(), 0);
}

Result<UcxModule> load_module() {
  const std::vector<fs::path> paths = candidates();
  if (paths.empty()) {
    return unavailable(fmt::format("{} was not found beside {}: install casync whole, or set CASYNC_LIB_DIR",
                                   kUcxModuleFile, folder_of_this_code().string()));
  }
  const fs::path& path = paths.front();
  prepare_environment(path);
  // Never closed: UCX keeps a thread and its own state until the process ends.
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    return unavailable(
        fmt::format("{}; install UCX 1.22 (pip install libucx-cu13, or the package libucx0)", dlerror()));
  }
  auto open = reinterpret_cast<UcxModuleOpen>(dlsym(module, kUcxModuleSymbol));
  if (open == nullptr) {
    return unavailable(fmt::format("{} is of another version of casync: {}", path.string(), dlerror()));
  }
  return UcxModule{open};
}

}  // namespace

Result<std::unique_ptr<Transport>> make_ucx(const std::string& name, const TransportOptions& options) {
  static const Result<UcxModule> module = load_module();
  if (!module) return module.status();
  Result<std::unique_ptr<Transport>> result = internal_error("the UCX module returned nothing");
  module->open(name, options, result);
  return result;
}

}  // namespace casync::runtime
