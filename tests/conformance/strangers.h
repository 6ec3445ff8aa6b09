// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace casync::test {

struct Listener {
  std::uint32_t address = 0;  ///< IPv4, network order
  std::uint16_t port = 0;
};

/// The addresses on which this process accepts TCP connections over IPv4.
std::vector<Listener> tcp_listeners_of_this_process();

/// Connects and says something that is not ours: by `kind`, random bytes, HTTP, TLS, UCX's own greeting with a
/// wrong length, or nothing; then hangs up.
void knock(const Listener& listener, std::uint32_t kind);

}  // namespace casync::test
