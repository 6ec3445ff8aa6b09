// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/factory.h"

#include <dlfcn.h>
#include <signal.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/env.h"
#include "base/own_folders.h"
#include "runtime/transport/ucx/module.h"

namespace casync::runtime {
namespace {

namespace fs = std::filesystem;

// The folders that may have the module: the user's, those of an installation, and the build tree's.
std::vector<fs::path> places() {
  std::vector<fs::path> found;
  if (const auto folder = env_text("CASYNC_LIB_DIR")) found.emplace_back(*folder);
  for (const fs::path& folder : library_folders()) found.push_back(folder);
  for (const fs::path& folder : own_folders()) found.push_back((folder / "../../lib").lexically_normal());
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
  std::string tried;
  fs::path path;
  for (const fs::path& place : places()) {
    std::error_code ignored;
    if (fs::exists(place / kUcxModuleFile, ignored)) {
      path = place / kUcxModuleFile;
      break;
    }
    tried += (tried.empty() ? "" : ", ") + place.string();
  }
  if (path.empty()) {
    return unavailable(
        fmt::format("{} is not in {}: install casync whole, or set CASYNC_LIB_DIR", kUcxModuleFile, tried));
  }
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
