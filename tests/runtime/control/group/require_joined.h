// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/runtime/control/control_support.h"

namespace casync::runtime::testing {

/// Ends the test case if a rank could not join, with the error of each rank that could not.
inline void require_joined(const std::vector<Joined>& joined) {
  for (const std::string& text : texts_of(joined)) CHECK(text.empty());
  for (const Joined& each : joined) REQUIRE(each.is_ok());
}

}  // namespace casync::runtime::testing
