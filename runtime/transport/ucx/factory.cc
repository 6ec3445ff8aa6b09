// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/factory.h"

#include <dlfcn.h>
#include <signal.h>

#include <array>
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

// UCX installs handlers of its own while it is being loaded, which would take those of the host program's place. Its
// variables could keep it from that, but setting one is a race with every thread of the program that reads any.
class SignalHandlers {
 public:
  SignalHandlers() {
    for (std::size_t i = 0; i < before_.size(); ++i) known_[i] = sigaction(number(i), nullptr, &before_[i]) == 0;
  }
  ~SignalHandlers() {
    if (foreign_env_text("UCX_HANDLE_ERRORS") || foreign_env_text("UCX_DEBUG_SIGNO")) return;  // the user wants them
    for (std::size_t i = 0; i < before_.size(); ++i) {
      struct sigaction now {};
      if (!known_[i] || sigaction(number(i), nullptr, &now) != 0) continue;
      if (now.sa_sigaction != before_[i].sa_sigaction) sigaction(number(i), &before_[i], nullptr);
    }
  }
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;

 private:
  static int number(std::size_t i) { return static_cast<int>(i) + 1; }

  std::array<struct sigaction, _NSIG - 1> before_{};
  std::array<bool, _NSIG - 1> known_{};
};

Result<UcxModule> load_module() {
  const std::vector<fs::path> paths = candidates();
  if (paths.empty()) {
    return unavailable(fmt::format("{} was not found beside {}: install casync whole, or set CASYNC_LIB_DIR",
                                   kUcxModuleFile, folder_of_this_code().string()));
  }
  const fs::path& path = paths.front();
  // Never closed: UCX keeps a thread and its own state until the process ends.
  void* const module = [&] {
    const SignalHandlers kept;
    return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }();
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
