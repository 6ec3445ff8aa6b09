// SPDX-License-Identifier: Apache-2.0
#include "base/named_numbers.h"

#include <algorithm>

#include "base/number.h"

namespace casync {
namespace {

Status refuse(std::string_view text, const std::string& what) {
  return invalid_argument("\"" + std::string(text) + "\": " + what + ", expected a form like int4:block=64,feedback=0");
}

}  // namespace

Result<NamedNumbers> parse_named_numbers(std::string_view text) {
  const std::size_t colon = text.find(':');
  NamedNumbers named{std::string(text.substr(0, colon)), {}};
  if (named.name.empty()) return refuse(text, "no name");
  if (colon == std::string_view::npos) return named;
  std::string_view rest = text.substr(colon + 1);
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    more = comma != std::string_view::npos;
    rest.remove_prefix(more ? comma + 1 : rest.size());

    const std::size_t equals = item.find('=');
    const std::string key(item.substr(0, equals));
    if (equals == std::string_view::npos || key.empty()) {
      return refuse(text, "`" + std::string(item) + "` is no key=number");
    }
    const std::optional<double> value = number_from(item.substr(equals + 1));
    if (!value) return refuse(text, "`" + std::string(item.substr(equals + 1)) + "` is no number");
    const auto same = [&](const auto& number) { return number.first == key; };
    if (std::any_of(named.numbers.begin(), named.numbers.end(), same)) return refuse(text, "`" + key + "` twice");
    named.numbers.emplace_back(key, *value);
  }
  return named;
}

}  // namespace casync
