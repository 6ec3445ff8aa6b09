// SPDX-License-Identifier: Apache-2.0
#include "base/env.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "base/check.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/number.h"

namespace casync {
namespace {

const EnvironmentVariable& variable(std::string_view name) {
  const auto table = environment_table();
  const auto found = std::find_if(table.begin(), table.end(), [&](const auto& entry) { return name == entry.name; });
  CASYNC_CHECK(found != table.end());  // base/env_table.cc lists every name that is read
  return *found;
}

std::string plain(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::optional<std::string> env_text(const char* name) { return foreign_env_text(variable(name).name); }

std::optional<std::string> foreign_env_text(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

Result<std::optional<double>> env_number(const char* name) {
  const EnvironmentVariable& known = variable(name);
  const std::optional<std::string> text = env_text(name);
  if (!text) return std::optional<double>();
  const std::optional<double> value = number_from(*text);
  if (value && *value >= known.least && *value <= known.most) return value;
  return invalid_argument(std::string(name) + "=" + *text + ": expected a number from " + plain(known.least) + " to " +
                          plain(known.most));
}

Result<bool> env_flag(const char* name, bool initial) {
  const std::optional<std::string> text = env_text(name);
  if (!text) return initial;
  for (const char* yes : {"1", "true", "yes", "on"}) {
    if (*text == yes) return true;
  }
  for (const char* no : {"0", "false", "no", "off"}) {
    if (*text == no) return false;
  }
  return invalid_argument(std::string(name) + "=" + *text + ": expected 1 or 0");
}

std::vector<std::string> unknown_variables(const char* const* environment) {
  std::vector<std::string_view> known;
  for (const EnvironmentVariable& entry : environment_table()) known.emplace_back(entry.name);
  std::vector<std::string> sentences;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view text = *environment;
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with("CASYNC_") || std::find(known.begin(), known.end(), name) != known.end()) continue;
    sentences.push_back("the environment sets " + std::string(name) + ", which nobody reads" + hint(name, known));
  }
  return sentences;
}

void warn_unknown_variables() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const std::string& sentence : unknown_variables(environ)) log().warn("{}", sentence);
  });
}

}  // namespace casync
