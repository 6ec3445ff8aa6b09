// SPDX-License-Identifier: Apache-2.0
#include "casync/model/codec_choice.h"

#include <charconv>
#include <set>

#include "base/number.h"

namespace casync {
namespace {

Status refuse(std::string_view text, const std::string& what) {
  return invalid_argument("\"" + std::string(text) + "\": " + what + ", expected a form like int4:block=64,feedback=0");
}

/// The shortest text that reads back as the same number.
std::string shortest(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

}  // namespace

Result<CodecChoice> parse_codec_choice(std::string_view text) {
  // A path may have colons in its folders, as `user@host:` mounts do.
  const std::size_t slash = text.rfind('/');
  const std::size_t colon = text.find(':', slash == std::string_view::npos ? 0 : slash);
  CodecChoice choice{std::string(text.substr(0, colon)), {}};
  if (choice.name.empty()) return refuse(text, "no name");
  if (colon == std::string_view::npos) return choice;
  std::string_view rest = text.substr(colon + 1);
  std::set<std::string_view> keys;
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
    if (!keys.insert(item.substr(0, equals)).second) return refuse(text, "`" + key + "` twice");
    choice.parameters.emplace_back(key, *value);
  }
  return choice;
}

std::string text_of(const CodecChoice& choice) {
  std::string text = choice.name;
  char separator = ':';
  for (const auto& [name, value] : choice.parameters) {
    text += separator + name + "=" + shortest(value);
    separator = ',';
  }
  return text;
}

}  // namespace casync
