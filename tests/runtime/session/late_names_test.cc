// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/late_names.h"

#include <catch2/catch.hpp>

using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("late names: a name is late once the step in which others need it has ended here without it") {
  LateNames names;
  CHECK(!names.needed("a", 0));
  CHECK(!names.needed("b", 1));
  names.claimed("c");
  CHECK(!names.needed("c", 0));
  CHECK(names.end(0) == std::vector<std::string>{"a"});
  CHECK(names.needed("d", 0));
  names.claimed("a");
  CHECK(names.end(1) == std::vector<std::string>{"b"});
  names.go_to(0);
  CHECK(!names.needed("e", 0));
}
