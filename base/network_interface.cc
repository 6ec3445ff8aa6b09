// SPDX-License-Identifier: Apache-2.0
#include "base/network_interface.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace casync {

std::vector<InterfaceAddress> interface_addresses() {
  std::vector<InterfaceAddress> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr);
    if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)) continue;
    InterfaceAddress& added = found.emplace_back();
    added.name = entry->ifa_name;
    added.is_loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
    std::memcpy(&added.address, entry->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  }
  return found;
}

std::vector<std::string> listed_interfaces(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    std::string name(list.substr(0, end));
    std::erase(name, ' ');
    if (!name.empty()) names.push_back(std::move(name));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return names;
}

}  // namespace casync
