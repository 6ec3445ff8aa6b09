// SPDX-License-Identifier: Apache-2.0
#include "base/network_interface.h"

#include <catch2/catch.hpp>

namespace casync::test {

TEST_CASE("network interfaces: a list as users write it") {
  CHECK(listed_interfaces("eth0") == std::vector<std::string>{"eth0"});
  CHECK(listed_interfaces("eth0,eth1") == std::vector<std::string>{"eth0", "eth1"});
  CHECK(listed_interfaces(" eth0 , ,eth1,") == std::vector<std::string>{"eth0", "eth1"});
  CHECK(listed_interfaces("").empty());
}

}  // namespace casync::test
