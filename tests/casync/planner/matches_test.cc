// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "casync/planner/decide.h"

namespace casync::test {
namespace {

// The meaning of a pattern in the plainest words, to compare with.
bool matches_plainly(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*') {
    return matches_plainly(pattern.substr(1), name) || (!name.empty() && matches_plainly(pattern, name.substr(1)));
  }
  return !name.empty() && (pattern[0] == '?' || pattern[0] == name[0]) &&
         matches_plainly(pattern.substr(1), name.substr(1));
}

// All strings over `letters` of up to `longest` characters.
std::vector<std::string> strings(const std::string& letters, std::size_t longest) {
  std::vector<std::string> found{""};
  for (std::size_t first = 0, length = 0; length < longest; ++length) {
    const std::size_t end = found.size();
    for (; first < end; ++first) {
      for (char letter : letters) found.push_back(found[first] + letter);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("matches: a pattern without wildcards is the whole name") {
  CHECK(matches("fc1.weight", "fc1.weight"));
  CHECK(!matches("fc1.weight", "fc1.weights"));
  CHECK(!matches("fc1.weight", "my.fc1.weight"));
  CHECK(!matches("", "a"));
  CHECK(matches("", ""));
}

TEST_CASE("matches: * is any text, also none; ? is one character") {
  CHECK(matches("*", ""));
  CHECK(matches("*.bias", "h.0.mlp.bias"));
  CHECK(!matches("*.bias", "bias"));
  CHECK(matches("h.*.mlp.*", "h.11.mlp.fc.weight"));
  CHECK(matches("h.?.ln", "h.3.ln"));
  CHECK(!matches("h.?.ln", "h..ln"));
  CHECK(!matches("h.?.ln", "h.11.ln"));
}

TEST_CASE("matches: nothing else is special") {
  CHECK(matches("a[0].b\\", "a[0].b\\"));
  CHECK(!matches("a[0]", "a0"));
}

TEST_CASE("matches: agrees with the plain meaning on all short patterns and names") {
  for (const std::string& pattern : strings("ab*?", 5)) {
    for (const std::string& name : strings("ab", 6)) {
      CAPTURE(pattern, name);
      REQUIRE(matches(pattern, name) == matches_plainly(pattern, name));
    }
  }
}

TEST_CASE("matches: many stars cost no more than pattern times name") {
  std::string pattern;
  for (int i = 0; i < 1000; ++i) pattern += "*a";
  CHECK(!matches(pattern + "b", std::string(20000, 'a')));
}

}  // namespace casync::test
