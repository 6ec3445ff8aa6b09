// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/lang/front_end.h"

namespace casync::compll {

struct Refused {
  const char* source;
  const char* said;  ///< LINE:COLUMN: MESSAGE, of the first diagnostic
};

/// The first diagnostic of a program, without the lines that show it; "OK" where there is none.
inline std::string first_said(const std::string& text) {
  const Source source("x.cll", text);
  const Status status = compile(source).status();
  if (status.is_ok()) return "OK";
  const std::string all = status.message();
  const std::string first = all.substr(0, all.find('\n'));
  const std::string prefix = "x.cll:";
  if (!first.starts_with(prefix)) return first;
  std::string said = first.substr(prefix.size());
  const std::size_t error = said.find(" error: ");
  return error == said.npos ? said : said.substr(0, error) + said.substr(error + 7);
}

}  // namespace casync::compll
