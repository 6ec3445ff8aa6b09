// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/report/page.h"

#include <string_view>

#include "tools/casync/version.h"

namespace casync::tools {
namespace {

/// JSON that can stand inside a script element: "<" could begin the end of it.
std::string data_text(const nlohmann::ordered_json& json) {
  std::string text;
  for (char c : json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

/// Puts `value` where the page says `<!--name-->`. One pass over the template: values are never looked into.
std::string fill(std::string_view page, std::initializer_list<std::pair<std::string_view, std::string>> values) {
  std::string result;
  while (!page.empty()) {
    const std::size_t open = page.find("<!--"), close = page.find("-->", open);
    result += page.substr(0, open);
    if (open == std::string_view::npos || close == std::string_view::npos) break;
    const std::string_view name = page.substr(open + 4, close - open - 4);
    for (const auto& [known, value] : values) {
      if (known == name) result += value;
    }
    page.remove_prefix(close + 3);
  }
  return result;
}

}  // namespace

std::string make_page(const nlohmann::ordered_json& numbers, const nlohmann::ordered_json& timeline) {
  return fill(kPageHtml, {{"style", kPageCss},
                          {"script", kPageJs},
                          {"version", kVersion},
                          {"numbers", data_text(numbers)},
                          {"timeline", data_text(timeline)}});
}

}  // namespace casync::tools
