// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/nccl/nccl_api.h"

#include <dlfcn.h>

#include <type_traits>

namespace casync::runtime {
namespace {

constexpr const char* kLibrary = "libnccl.so.2";

/// Two copies in one process would each take channels and memory of the GPU: the one that a framework has loaded comes
/// first.
void* open(const std::string& library) {
  void* const loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  return loaded != nullptr ? loaded : ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
}

Status check_version(NcclApi& api, const std::string& library) {
  if (const NcclApi::Code code = api.version(&api.found); code != 0) {
    return unavailable(library + ": ncclGetVersion: " + api.error_text(code));
  }
  if (api.found >= NcclApi::kOldest && api.found <= NcclApi::kNewest) return Status::ok();
  return unavailable(library + " is NCCL " + nccl_version_text(api.found) +
                     ", expected 2.28 to 2.32: install another nvidia-nccl-cu12 or nvidia-nccl-cu13, or use the "
                     "transport ucx");
}

}  // namespace

std::string nccl_version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

Result<NcclApi> load_nccl(const std::string& library) {
  void* const opened = open(library);
  if (opened == nullptr) {
    return unavailable("there is no NCCL: " + std::string(::dlerror()) +
                       ": import the framework that brings it first, or put its folder into LD_LIBRARY_PATH");
  }
  std::string missing;
  const auto take = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(opened, name));
    if (function == nullptr) missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
  NcclApi api;
  take("ncclGetVersion", api.version);
  take("ncclGetErrorString", api.error_text);
  if (missing.empty()) CASYNC_RETURN_IF_ERROR(check_version(api, library));  // an old one lacks functions, too
  take("ncclGetLastError", api.last_error);
  take("ncclGetUniqueId", api.unique_id);
  take("ncclCommInitRankConfig", api.init_rank);
  take("ncclCommGetAsyncError", api.async_error);
  take("ncclCommFinalize", api.finalize);
  take("ncclCommDestroy", api.destroy);
  take("ncclCommAbort", api.abort);
  take("ncclGroupStart", api.begin_group);
  take("ncclGroupEnd", api.end_group);
  take("ncclSend", api.send);
  take("ncclRecv", api.recv);
  take("ncclAllReduce", api.all_reduce);
  if (!missing.empty()) return unavailable(library + " is no NCCL: it lacks " + missing);
  return api;
}

Result<const NcclApi*> NcclSearch::find(const std::string& library) {
  const std::lock_guard lock(mutex_);
  if (!found_) {
    Result<NcclApi> loaded = load_nccl(library);
    if (!loaded) return loaded.status();
    found_ = *loaded;
  }
  const NcclApi* const api = &*found_;
  return api;
}

Result<const NcclApi*> find_nccl() {
  static auto* const search = new NcclSearch;  // outlives all other statics
  return search->find(kLibrary);
}

}  // namespace casync::runtime
