// SPDX-License-Identifier: Apache-2.0
#include "base/env.h"

#include <catch2/catch.hpp>
#include <set>

#include "tests/environment/scoped_variable.h"

namespace casync {

TEST_CASE("environment: a text that is set to nothing counts as unset") {
  {
    const ScopedVariable unset("CASYNC_PLAN", nullptr);
    CHECK(env_text("CASYNC_PLAN") == std::nullopt);
  }
  const ScopedVariable empty("CASYNC_PLAN", "");
  CHECK(env_text("CASYNC_PLAN") == std::nullopt);
  const ScopedVariable set("CASYNC_PLAN", "a b");
  CHECK(env_text("CASYNC_PLAN") == "a b");
}

TEST_CASE("environment: a number is the whole of the value and within the table's range") {
  const auto read = [](const char* value) {
    const ScopedVariable set("CASYNC_TIMEOUT_SEC", value);
    return env_number("CASYNC_TIMEOUT_SEC");
  };
  CHECK(*read(nullptr) == std::nullopt);
  CHECK(*read("2.5") == 2.5);
  CHECK(*read("1e3") == 1000);
  CHECK(*read("1e6") == 1e6);
  for (const char* wrong : {"five", "5s", " 5", "nan", "inf", "0", "-1", "1000001", "1e999", "0x10"}) {
    CAPTURE(wrong);
    CHECK(read(wrong).status().text() ==
          std::string("InvalidArgument: CASYNC_TIMEOUT_SEC=") + wrong + ": expected a number from 0.001 to 1000000");
  }
}

TEST_CASE("environment: a flag is one of the usual words and nothing else") {
  const auto read = [](const char* value) {
    const ScopedVariable set("CASYNC_CHECKSUM", value);
    return env_flag("CASYNC_CHECKSUM", true);
  };
  CHECK(*read(nullptr));
  for (const char* yes : {"1", "true", "yes", "on"}) CHECK(*read(yes));
  for (const char* no : {"0", "false", "no", "off"}) CHECK(!*read(no));
  CHECK(read("2").status().text() == "InvalidArgument: CASYNC_CHECKSUM=2: expected 1 or 0");
}

TEST_CASE("environment: a variable that nobody reads is named, with the one that was meant") {
  const char* const environment[] = {"HOME=/",         "CASYNC_PLAN=x",     "CASYNC_TIMEOUT=5", "CASYNC_TRANSPROT=ucx",
                                     "CASYNC_QUUX1=1", "MY_CASYNC_PLANS=1", "CASYNC_",          nullptr};
  const auto sentences = unknown_variables(environment);
  REQUIRE(sentences.size() == 4);
  CHECK(sentences[0] == "the environment sets CASYNC_TIMEOUT, which nobody reads (did you mean `CASYNC_TIMEOUT_SEC`?)");
  CHECK(sentences[1] == "the environment sets CASYNC_TRANSPROT, which nobody reads (did you mean `CASYNC_TRANSPORT`?)");
  CHECK(sentences[2].starts_with("the environment sets CASYNC_QUUX1, which nobody reads"));
  CHECK(unknown_variables(nullptr).empty());
}

TEST_CASE("environment: the table names each variable once and gives each number a range") {
  std::set<std::string> names;
  for (const EnvironmentVariable& variable : environment_table()) {
    CAPTURE(variable.name);
    CHECK(names.insert(variable.name).second);
    CHECK(std::string(variable.name).starts_with("CASYNC_"));
    CHECK((variable.type == EnvironmentVariable::Type::kNumber) == (variable.most > variable.least));
  }
}

}  // namespace casync
