// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// The function that libcasync_ucx.so exports, under kUcxModuleSymbol. The module and its loader are built from the
/// same sources, so they pass C++ types; the version in the symbol keeps an old module from being taken for ours.
using UcxModuleOpen = void (*)(const std::string& name, const TransportOptions& options,
                               Result<std::unique_ptr<Transport>>& result);

/// The entry of the loaded module.
struct UcxModule {
  UcxModuleOpen open = nullptr;
};

#define CASYNC_UCX_MODULE_OPEN casync_ucx_open_0_1
constexpr const char* kUcxModuleFile = "libcasync_ucx.so";
constexpr const char* kUcxModuleSymbol = "casync_ucx_open_0_1";

}  // namespace casync::runtime
