// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/unique_fd.h"
#include "tools/casync/doctor/finding.h"
#include "tools/casync/this_machine.h"

namespace casync::tools {
namespace {

std::string address_text(const sockaddr* address) {
  char text[NI_MAXHOST];
  const socklen_t length = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (::getnameinfo(address, length, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0) return "?";
  return text;
}

void look_at_interfaces(Findings& findings) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) {
    findings.push_back({"network", "interfaces", State::kWarn, "cannot be listed", std::strerror(errno)});
    return;
  }
  std::map<std::string, std::string> addresses;  // by interface
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const bool up = (one->ifa_flags & IFF_UP) != 0;
    if (!up || one->ifa_addr == nullptr) continue;
    std::string& text = addresses[one->ifa_name];
    const int family = one->ifa_addr->sa_family;
    if (family == AF_INET || family == AF_INET6) text += (text.empty() ? "" : ", ") + address_text(one->ifa_addr);
  }
  ::freeifaddrs(all);
  for (const auto& [name, text] : addresses) {
    const std::string speed = first_line_of("/sys/class/net/" + name + "/speed");
    const bool known = !speed.empty() && speed[0] != '-';
    findings.push_back({"network", name, State::kNote,
                        (text.empty() ? "no address" : text) + (known ? " (" + speed + " Mb/s)" : ""), ""});
  }
}

/// Large socket buffers are what keeps a fast link full; the kernel caps what a program may ask for.
void look_at_buffers(Findings& findings) {
  for (const char* name : {"rmem_max", "wmem_max"}) {
    const std::string value = first_line_of(std::string("/proc/sys/net/core/") + name);
    const bool small = !value.empty() && std::strtoull(value.c_str(), nullptr, 10) < (4ull << 20);
    findings.push_back(
        {"network", std::string("net.core.") + name, small ? State::kWarn : State::kOk,
         value.empty() ? "cannot be read" : value + " bytes",
         small ? "links above 1 Gb/s profit from 4 MiB: sysctl -w net.core." + std::string(name) + "=4194304" : ""});
  }
}

/// Rank 0 of every job listens: whether this machine lets it.
void look_at_listening(Findings& findings) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool listens = socket.open() &&
                       ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
                       ::listen(socket.get(), 1) == 0;
  findings.push_back({"network", "listen on 127.0.0.1", listens ? State::kOk : State::kBroken,
                      listens ? "works" : "fails",
                      listens ? "" : std::string(std::strerror(errno)) + "; is the interface lo up?"});
}

}  // namespace

void look_at_network(Findings& findings) {
  look_at_interfaces(findings);
  look_at_listening(findings);
  look_at_buffers(findings);
}

}  // namespace casync::tools
