// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "base/env.h"

namespace casync {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = CASYNC_SOURCE_DIR;

std::string text_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The names that sources hold as literals, "CASYNC_X" in quotes: what they read or set.
std::set<std::string> names_in_sources() {
  static const std::regex literal("[\"'](CASYNC_[A-Z_]+)[\"']");
  std::set<std::string> names;
  for (const char* folder : {"base", "casync", "compll", "runtime", "plugins", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string kind = entry.path().extension().string();
      if ((kind != ".cc" && kind != ".h" && kind != ".py") || entry.path().filename() == "env_table.cc") continue;
      const std::string text = text_of(entry.path());
      for (std::sregex_iterator found(text.begin(), text.end(), literal), end; found != end; ++found) {
        names.insert((*found)[1]);
      }
    }
  }
  return names;
}

std::set<std::string> names_in_table() {
  std::set<std::string> names;
  for (const EnvironmentVariable& variable : environment_table()) names.insert(variable.name);
  return names;
}

}  // namespace

TEST_CASE("environment: docs/environment.md is what the table says") {
  INFO("to write it anew: <build folder>/bin/environment_page > docs/environment.md");
  CHECK(text_of(kRoot / "docs/environment.md") == environment_page());
}

TEST_CASE("environment: sources read the variables of the table and no others") {
  const std::set<std::string> used = names_in_sources(), documented = names_in_table();
  // Variables that only the build of the wheel sets, for itself.
  const std::set<std::string> of_the_build = {"CASYNC_BUILD_DIR", "CASYNC_DIST_DIR"};
  for (const std::string& name : used) {
    INFO(name << " is read somewhere: add it to base/env_table.cc");
    CHECK(documented.count(name) + of_the_build.count(name) == 1);
  }
  for (const std::string& name : documented) {
    INFO(name << " is documented in base/env_table.cc, but no source names it");
    CHECK(used.count(name) == 1);
  }
}

}  // namespace casync
