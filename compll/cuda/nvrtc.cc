// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <type_traits>
#include <vector>

#include "base/env.h"
#include "base/folder_entries.h"
#include "base/own_folders.h"

namespace casync::compll {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibraryNames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
// NVRTC_ERROR_INVALID_OPTION: NVRTC does not know it, such as an architecture; NVRTC_ERROR_COMPILATION.
constexpr int kUnknownOption = 5, kRefused = 6;

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (const auto& entry : folder_entries(folder, failed)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

/// The folders that a loader does not search by itself: Python's packages, and toolkits.
std::vector<fs::path> places() {
  std::vector<fs::path> packages, all;
  for (const fs::path& own : own_folders())
    packages.push_back((own / "../../..").lexically_normal());  // casync/lib/casync
  if (const auto environment = foreign_env_text("VIRTUAL_ENV")) {
    for (const fs::path& python : folders_in(fs::path(*environment) / "lib")) {
      packages.push_back(python / "site-packages");
    }
  }
  for (const fs::path& folder : packages) {
    for (const fs::path& package : folders_in(folder / "nvidia")) all.push_back(package / "lib");
  }
  for (const char* toolkit : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto folder = foreign_env_text(toolkit)) all.push_back(fs::path(*folder) / "lib64");
  }
  all.emplace_back("/usr/local/cuda/lib64");
  return all;
}

/// Loads NVRTC's builtins, which NVRTC looks for by name and would not find in its own folder.
void open_builtins(const fs::path& folder) {
  for (const fs::path& file : folders_in(folder)) {
    if (file.filename().string().starts_with("libnvrtc-builtins.so.")) ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
}

void* open(const fs::path& library) {
  std::error_code failed;
  if (!fs::exists(library, failed)) return nullptr;
  open_builtins(library.parent_path());
  return ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

Result<Nvrtc> Nvrtc::load() {
  if (const auto wanted = env_text("CASYNC_NVRTC")) {
    void* const library = open(*wanted);
    return library != nullptr ? from(library, *wanted)
                              : unavailable("CASYNC_NVRTC=" + *wanted + " is no library that can be loaded");
  }
  for (const char* name : kLibraryNames) {
    if (void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return from(library, name);
  }
  std::string tried;
  for (const fs::path& folder : places()) {
    tried += ", " + folder.string();
    for (const char* name : kLibraryNames) {
      if (void* const library = open(folder / name)) return from(library, (folder / name).string());
    }
  }
  return unavailable(std::string("there is no NVRTC: ") + kLibraryNames[0] + " and " + kLibraryNames[1] +
                     " are not where the loader looks" + tried +
                     "; install one (pip install nvidia-cuda-nvrtc), or name it by CASYNC_NVRTC");
}

Result<Nvrtc> Nvrtc::from(void* library, const std::string& path) {
  std::string missing;
  const auto take = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (function == nullptr) missing += std::string(" ") + name;
  };
  Nvrtc api;
  Code (*version)(int* major, int* minor) = nullptr;
  take("nvrtcVersion", version);
  take("nvrtcCreateProgram", api.make_);
  take("nvrtcCompileProgram", api.compile_);
  take("nvrtcGetProgramLogSize", api.log_size_);
  take("nvrtcGetProgramLog", api.log_);
  take("nvrtcGetCUBINSize", api.cubin_size_);
  take("nvrtcGetCUBIN", api.cubin_);
  take("nvrtcGetPTXSize", api.ptx_size_);
  take("nvrtcGetPTX", api.ptx_);
  take("nvrtcDestroyProgram", api.end_);
  take("nvrtcGetErrorString", api.error_text_);
  int major = 0, minor = 0;
  if (missing.empty() && version(&major, &minor) == 0) {
    api.version_ = std::to_string(major) + "." + std::to_string(minor);
    return api;
  }
  ::dlclose(library);
  return unavailable(path + " is no NVRTC that can be used" + (missing.empty() ? "" : ": it lacks" + missing));
}

Result<const Nvrtc*> Nvrtc::find() {
  static const auto* const found = new Result<Nvrtc>(load());  // outlives all other statics
  if (!*found) return found->status();
  return &**found;
}

std::string Nvrtc::log_of(Handle program) const {
  std::size_t size = 0;
  if (log_size_(program, &size) != 0 || size == 0) return "";
  std::string log(size, '\0');
  if (log_(program, log.data()) != 0) return "";
  return log.substr(0, log.find('\0'));
}

Result<std::string> Nvrtc::compiled(const std::string& text, std::span<const std::string> options) const {
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  Handle program = nullptr;
  Code code = make_(&program, text.c_str(), "codec.cu", 0, nullptr, nullptr);
  if (code != 0) return internal_error("NVRTC " + version_ + " does not begin: " + text_of(code));
  code = compile_(program, static_cast<int>(words.size()), words.data());
  std::string made;
  std::size_t size = 0;
  if (code == 0) code = cubin_size_(program, &size);
  const bool is_virtual = code == 0 && size == 0;
  if (is_virtual) code = ptx_size_(program, &size);
  if (code == 0) made.resize(size);
  if (code == 0) code = (is_virtual ? ptx_ : cubin_)(program, made.data());
  const std::string log = code == 0 ? "" : log_of(program);
  end_(&program);
  if (code == 0) return made;
  if (code == kRefused) return compile_error(log);
  const std::string said = text_of(code) + (log.empty() ? "" : "\n" + log);
  return code == kUnknownOption ? unavailable(said) : internal_error(said);
}

}  // namespace casync::compll
