// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/transport.h"

#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/env.h"
#include "base/network_interface.h"
#include "runtime/transport/link.h"
#include "runtime/transport/loopback/factory.h"
#include "runtime/transport/nearest_interface.h"
#include "runtime/transport/paced.h"
#include "runtime/transport/ucx/factory.h"

namespace casync::runtime {
namespace {

using Found = NamedTransport::Found;

Result<std::unique_ptr<Transport>> open_loopback(const std::string&, const TransportOptions& options) {
  return make_loopback(options);
}

// The one list of transports: a new one is a folder and a row here.
constexpr NamedTransport kTransports[] = {
    {.name = "ucx", .open = &make_ucx},
    {.name = "ucx:rdma", .open = &make_ucx, .found = Found::kWithHardware},
    {.name = "ucx:tcp", .open = &make_ucx},
    {.name = "ucx:shm", .open = &make_ucx, .found = Found::kMostly},
    {.name = "loopback", .open = &open_loopback, .joins_processes = false},
};

/// "a, b and c".
std::string list_of(const std::vector<std::string_view>& names, std::string_view last) {
  std::string text;
  for (const std::string_view& name : names) {
    text += text.empty() ? "" : &name == &names.back() ? last : ", ";
    text += name;
  }
  return text;
}

Result<std::unique_ptr<Transport>> open_bare(const std::string& name, const TransportOptions& options) {
  std::vector<std::string_view> names;
  for (const NamedTransport& transport : kTransports) {
    if (transport.name == name) return transport.open(name, options);
    names.push_back(transport.name);
  }
  return invalid_argument(fmt::format("there is no transport \"{}\"; there are {}", name, list_of(names, " and ")));
}

// Fills the options that the program left open from the environment.
Result<TransportOptions> with_environment(TransportOptions options) {
  if (options.interface_name.empty()) options.interface_name = env_text("CASYNC_INTERFACE").value_or("");
  options.interface_name =
      nearest_interface(listed_interfaces(options.interface_name), {options.device_address, options.local_rank});
  const Result<bool> checksum = env_flag("CASYNC_CHECKSUM", options.checksum);
  if (!checksum) return checksum.status();
  options.checksum = options.checksum && *checksum;
  return options;
}

}  // namespace

std::span<const NamedTransport> transports() { return kTransports; }

std::string transport_names() {
  std::vector<std::string_view> names;
  for (const NamedTransport& transport : kTransports) {
    if (transport.joins_processes) names.push_back(transport.name);
  }
  return list_of(names, " or ");
}

Status check_joins_processes(std::string_view name) {
  for (const NamedTransport& transport : kTransports) {
    if (transport.name != name || transport.joins_processes) continue;
    return invalid_argument(fmt::format("{} joins threads of one process; use {}", name, transport_names()));
  }
  return Status::ok();
}

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
