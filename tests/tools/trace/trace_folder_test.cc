// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/trace/trace_folder.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "tests/support/failing_folder.h"
#include "tests/support/temporary_directory.h"

namespace casync::tools {

TEST_CASE("trace folder: one that cannot be read to its end is refused by its name") {
  const test::TemporaryDirectory folder;
  for (int i = 0; i < 10; ++i) std::ofstream(folder.path() + "/rank" + std::to_string(i) + ".trace.json").put('{');
  const auto read = [&] {
    const test::FailingFolders gone(4);
    return read_trace_folder(folder.path()).status().text();
  };
  CHECK(read() == "InvalidArgument: " + folder.path() + ": Input/output error");
}

}  // namespace casync::tools
