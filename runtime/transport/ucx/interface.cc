// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/interface.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include <fmt/core.h>

#include "base/network_interface.h"

namespace casync::runtime {
namespace {

struct Found {
  std::string name;
  bool is_loopback = false;
  bool has_ipv4 = false;
};

std::vector<Found> interfaces_with_address() {
  std::vector<Found> found;
  for (const InterfaceAddress& each : interface_addresses()) {
    auto known = std::find_if(found.begin(), found.end(), [&](const Found& f) { return f.name == each.name; });
    if (known == found.end()) known = found.insert(found.end(), {each.name, each.is_loopback});
    known->has_ipv4 = known->has_ipv4 || each.address.ss_family == AF_INET;
  }
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

// The kernel has megabits per second; -1 or an error where the driver does not say.
double speed_of(const std::string& interface) {
  std::ifstream file("/sys/class/net/" + interface + "/speed");
  double megabits = 0;
  return file >> megabits && megabits > 0 ? megabits * 1e6 : 0;
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
  return Interface{chosen->name, !chosen->has_ipv4, speed_of(chosen->name)};
}

}  // namespace casync::runtime
