// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <string>

namespace casync::test {

/// Returns true, and warns, if sessions said that the program was built without UCX. Any other error is a failure.
inline bool lacks_ucx(const std::string& said) {
  if (said.find(": built without UCX") == std::string::npos) return false;
  WARN("[SKIP] " << said);
  return true;
}

}  // namespace casync::test
