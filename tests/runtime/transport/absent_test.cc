// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "runtime/transport/transport.h"

namespace casync::test {

TEST_CASE("without UCX: its transports say how to get it") {
  const auto transport = runtime::make_transport("ucx:tcp", {});
  REQUIRE_FALSE(transport.is_ok());
  CHECK(transport.status().code() == StatusCode::kUnimplemented);
  CHECK_THAT(transport.status().message(),
             Catch::Contains("built without UCX (CASYNC_WITH_UCX=OFF)") && Catch::Contains("install"));
}

}  // namespace casync::test
