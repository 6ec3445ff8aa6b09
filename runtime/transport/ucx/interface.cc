// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/interface.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include <fmt/core.h>

namespace casync::runtime {
namespace {

struct Found {
  std::string name;
  bool is_loopback = false;
  bool has_ipv4 = false;
};

bool usable(const ifaddrs& entry) {
  if (entry.ifa_addr == nullptr || (entry.ifa_flags & IFF_UP) == 0) return false;
  if (entry.ifa_addr->sa_family == AF_INET) return true;
  if (entry.ifa_addr->sa_family != AF_INET6) return false;
  // A link-local address means nothing without its interface, on the other side too.
  const auto* address = reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr);
  return !IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr);
}

std::vector<Found> interfaces_with_address() {
  std::vector<Found> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (!usable(*entry)) continue;
    auto known = std::find_if(found.begin(), found.end(), [&](const Found& f) { return f.name == entry->ifa_name; });
    if (known == found.end()) {
      known = found.insert(found.end(), {entry->ifa_name, (entry->ifa_flags & IFF_LOOPBACK) != 0});
    }
    known->has_ipv4 = known->has_ipv4 || entry->ifa_addr->sa_family == AF_INET;
  }
  freeifaddrs(list);
  return found;
}

// The interface of the IPv4 default route: the line of the routing table whose destination and mask are zero.
std::string default_route_interface() {
  std::ifstream routes("/proc/net/route");
  std::string line;
  std::getline(routes, line);  // titles
  while (std::getline(routes, line)) {
    std::istringstream fields(line);
    std::string name, destination, gateway, flags, references, use, metric, mask;
    fields >> name >> destination >> gateway >> flags >> references >> use >> metric >> mask;
    if (destination == "00000000" && mask == "00000000") return name;
  }
  return {};
}

}  // namespace

Result<Interface> choose_interface(const std::string& wanted) {
  const std::vector<Found> all = interfaces_with_address();
  const auto named = [&](const std::string& name) {
    return std::find_if(all.begin(), all.end(), [&](const Found& found) { return found.name == name; });
  };
  auto chosen = named(wanted.empty() ? default_route_interface() : wanted);
  if (chosen == all.end() && !wanted.empty()) {
    std::string names;
    for (const Found& found : all) names += (names.empty() ? "" : ", ") + found.name;
    return invalid_argument(fmt::format("no network interface \"{}\" that is up and has an address; there are: {}",
                                        wanted, names.empty() ? "none" : names));
  }
  if (chosen == all.end()) {
    chosen = std::find_if(all.begin(), all.end(), [](const Found& found) { return !found.is_loopback; });
  }
  if (chosen == all.end()) chosen = all.begin();
  if (chosen == all.end()) return unavailable("no network interface is up and has an address, not even lo");
  return Interface{chosen->name, !chosen->has_ipv4};
}

}  // namespace casync::runtime
