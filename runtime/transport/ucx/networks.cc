// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/networks.h"

#include <algorithm>

#include <fmt/core.h>

namespace casync::runtime {
namespace {

constexpr Bytes kLeastBuffer = 256_KiB, kMostBuffer = 4_MiB, kLeastShare = 64_KiB;

// UCX's names of kinds of RDMA, and how its transports of each kind begin. Reliable connections of `rc` are set up over
// `ud`, which UCX adds by itself.
struct RdmaKind {
  const char* name;
  const char* prefix;
};
constexpr RdmaKind kRdmaKinds[] = {{"rc", "rc_"}, {"dc", "dc_"}, {"ud", "ud_"}, {"srd", "srd"}};

bool is_of(const UcxResource& resource, const RdmaKind& kind) { return resource.transport.starts_with(kind.prefix); }

bool is_rdma(const UcxResource& resource) {
  return std::any_of(std::begin(kRdmaKinds), std::end(kRdmaKinds),
                     [&](const RdmaKind& kind) { return is_of(resource, kind); });
}

void append(std::string& list, const std::string& name) { list += (list.empty() ? "" : ",") + name; }

/// False: UCX has no room for shared memory here. It then complains of a transport that is named and not there.
bool has_shared_memory(std::span<const UcxResource> found) {
  return std::any_of(found.begin(), found.end(),
                     [](const UcxResource& resource) { return resource.transport == "posix"; });
}

Status no_shared_memory() {
  return unavailable(
      "ucx:shm: UCX finds no shared memory: `df /dev/shm` shows whether it has room; in a container, start it with "
      "--shm-size=1g");
}

std::vector<UcxResource> rdma_among(std::span<const UcxResource> found, const Interface& interface, bool is_wanted) {
  std::vector<UcxResource> chosen;
  for (const UcxResource& resource : found) {
    if (is_rdma(resource) && (!is_wanted || resource.interface == interface.name)) chosen.push_back(resource);
  }
  return chosen;
}

std::string kinds_of(std::span<const UcxResource> rdma) {
  std::string kinds;
  for (const RdmaKind& kind : kRdmaKinds) {
    const bool there = std::any_of(rdma.begin(), rdma.end(), [&](const UcxResource& r) { return is_of(r, kind); });
    if (there) append(kinds, kind.name);
  }
  return kinds;
}

std::string devices_of(std::span<const UcxResource> rdma) {
  std::vector<std::string> seen;
  std::string devices;
  for (const UcxResource& resource : rdma) {
    if (std::find(seen.begin(), seen.end(), resource.device) != seen.end()) continue;
    seen.push_back(resource.device);
    append(devices, resource.device);
  }
  return devices;
}

Status no_rdma(std::span<const UcxResource> found, const Interface& interface, bool is_wanted) {
  std::string there;
  for (const UcxResource& resource : found) append(there, resource.transport + "/" + resource.device);
  return unavailable(
      fmt::format("ucx:rdma: UCX finds no RDMA device{}; it finds {}; `ibv_devinfo` shows whether a port "
                  "is active, and `ulimit -l` whether memory may be registered",
                  is_wanted ? " of the interface " + interface.name : "", there.empty() ? "nothing" : there));
}

}  // namespace

Result<UcxNetworks> choose_networks(const std::string& name, const Interface& interface, bool is_wanted,
                                    std::span<const UcxResource> found) {
  if (name == "ucx:tcp") return UcxNetworks{"self,tcp", interface.name, false};
  if (name == "ucx:shm") {
    if (!has_shared_memory(found)) return no_shared_memory();
    return UcxNetworks{"self,posix,cma", interface.name, false};
  }
  if (name != "ucx" && name != "ucx:rdma") {
    return invalid_argument(fmt::format("UCX has no networks that are called \"{}\"", name));
  }
  const std::vector<UcxResource> rdma = rdma_among(found, interface, is_wanted);
  if (rdma.empty() && name == "ucx:rdma") return no_rdma(found, interface, is_wanted);
  const std::string usual = has_shared_memory(found) ? "self,tcp,posix,cma" : "self,tcp,cma";
  if (rdma.empty()) return UcxNetworks{usual, interface.name, false};
  return UcxNetworks{usual + "," + kinds_of(rdma), devices_of(rdma) + "," + interface.name, true};
}

Bytes socket_buffer_bytes(double bits_per_second, Seconds round_trip, int peers) {
  const Bytes share = std::max(kLeastShare, kSocketBudget / static_cast<Bytes>(std::max(peers, 1)));
  if (bits_per_second <= 0) return std::min(kMostBuffer, share);
  const double under_way = 2 * bits_per_second / 8 * round_trip.count();
  const Bytes wanted = under_way < static_cast<double>(kMostBuffer) ? static_cast<Bytes>(under_way) : kMostBuffer;
  return std::min(std::max(wanted, kLeastBuffer), share);
}

}  // namespace casync::runtime
