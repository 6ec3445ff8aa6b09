// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/transport.h"

#include <optional>
#include <utility>

#include <fmt/core.h>

#include "base/env.h"
#include "runtime/transport/link.h"
#include "runtime/transport/loopback/factory.h"
#include "runtime/transport/paced.h"
#include "runtime/transport/ucx/factory.h"

namespace casync::runtime {
namespace {

Result<std::unique_ptr<Transport>> open_bare(const std::string& name, const TransportOptions& options) {
  if (name == "loopback") return make_loopback(options);
  if (name == "ucx" || name.starts_with("ucx:")) return make_ucx(name, options);
  return invalid_argument(
      fmt::format("there is no transport \"{}\"; there are ucx, ucx:rdma, ucx:tcp, ucx:shm and loopback", name));
}

// Fills the options that the program left open from the environment.
Result<TransportOptions> with_environment(TransportOptions options) {
  if (options.interface_name.empty()) options.interface_name = env_text("CASYNC_INTERFACE").value_or("");
  const Result<bool> checksum = env_flag("CASYNC_CHECKSUM", options.checksum);
  if (!checksum) return checksum.status();
  options.checksum = options.checksum && *checksum;
  return options;
}

}  // namespace

Result<std::unique_ptr<Transport>> make_transport(const std::string& name, const TransportOptions& options) {
  const Result<TransportOptions> complete = with_environment(options);
  if (!complete) return complete.status();
  const std::optional<std::string> link_text = env_text("CASYNC_LINK");
  if (!link_text) return open_bare(name, *complete);
  const Result<Link> link = parse_link(*link_text);
  if (!link) return link.status();
  Result<std::unique_ptr<Transport>> bare = open_bare(name, *complete);
  if (!bare) return bare.status();
  return make_paced(std::move(*bare), *link, options.ranks);
}

}  // namespace casync::runtime
