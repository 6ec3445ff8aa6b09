// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace casync::tools {

/// The page's own files as text, put into the program by the build.
extern const char* const kPageHtml;
extern const char* const kPageCss;
extern const char* const kPageJs;

/// One HTML page that needs nothing else and no network. The texts of the traces stand in it as data only: they
/// cannot end the element they are in, and the page writes them as text.
std::string make_page(const nlohmann::ordered_json& numbers, const nlohmann::ordered_json& timeline);

}  // namespace casync::tools
