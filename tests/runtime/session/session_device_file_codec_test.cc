// SPDX-License-Identifier: Apache-2.0
//
// Codecs from files in sessions on a GPU. The emulated driver finds kernels by their names, so that the files have the
// texts of codecs that it has.
#include <catch2/catch.hpp>

#include "compll/codec/written.h"
#include "tests/runtime/session/device_cases.h"

using namespace casync;                // NOLINT(google-build-using-namespace)
using namespace casync::test;          // NOLINT(google-build-using-namespace)
using namespace casync::test::device;  // NOLINT(google-build-using-namespace)

TEST_CASE("session on a GPU: a codec from a file has the host's bytes") {
  TemporaryDirectory folder;
  for (const std::string name : {"int4", "topk"}) {
    const std::string path = folder.path() + "/" + name + ".cll";
    std::ofstream(path) << compll::written_source(name);
    const std::string plan = "default { codec { file: \"" + path + "\" } partitions: 3 }";
    INFO(name);
    CHECK(compare(2, plan) == "");
  }
}
