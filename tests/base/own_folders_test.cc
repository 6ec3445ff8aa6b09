// SPDX-License-Identifier: Apache-2.0
#include "base/own_folders.h"

#include <algorithm>

#include <catch2/catch.hpp>

namespace casync::test {
namespace {

namespace fs = std::filesystem;
using Folders = std::vector<fs::path>;

}  // namespace

TEST_CASE("own folders: a program knows its folder") {
  const Folders own = own_folders();
  REQUIRE(!own.empty());
  CHECK(own.back() == fs::canonical("/proc/self/exe").parent_path());
}

TEST_CASE("own folders: libraries lie next to the own folder, in lib, or where the build installs them") {
  CHECK(library_folders({"/opt/bin"}, "lib") == Folders{"/opt/bin", "/opt/lib"});
  CHECK(library_folders({"/opt/bin"}, "lib64") == Folders{"/opt/bin", "/opt/lib", "/opt/lib64"});
  CHECK(library_folders({"/usr/bin"}, "lib/x86_64-linux-gnu") ==
        Folders{"/usr/bin", "/usr/lib", "/usr/lib/x86_64-linux-gnu"});
  CHECK(library_folders({"/opt/bin"}, "/srv/lib") == Folders{"/opt/bin", "/opt/lib", "/srv/lib"});
}

TEST_CASE("own folders: no folder is searched twice") {
  CHECK(library_folders({"/opt/lib"}, "lib") == Folders{"/opt/lib"});
  CHECK(library_folders({"/link/bin", "/opt/bin"}, "lib") == Folders{"/link/bin", "/link/lib", "/opt/bin", "/opt/lib"});
}

TEST_CASE("own folders: those of this build are searched") {
  const Folders all = library_folders();
  const fs::path own = own_folders().back();
  for (const fs::path& folder : {own, (own / "../lib").lexically_normal()}) {
    CHECK(std::find(all.begin(), all.end(), folder) != all.end());
  }
}

}  // namespace casync::test
