// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/transport.h"

#include <fmt/core.h>

#include "runtime/transport/loopback/factory.h"
#include "runtime/transport/ucx/factory.h"

namespace casync::runtime {
namespace {

Result<std::unique_ptr<Transport>> open_bare(const std::string& name, const TransportOptions& options) {
  if (name == "loopback") return make_loopback(options);
  if (name == "ucx" || name.starts_with("ucx:")) return make_ucx(name, options);
  return invalid_argument(
      fmt::format("there is no transport \"{}\"; there are ucx, ucx:tcp, ucx:shm and loopback", name));
}

}  // namespace

Result<std::unique_ptr<Transport>> make_transport(const std::string& name, const TransportOptions& options) {
  return open_bare(name, options);
}

}  // namespace casync::runtime
