// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace casync {

/// Returns true if a codec's name is the path of its program: it has a slash or ends in ".cll" or ".pse". No built-in
/// codec's name does.
inline bool is_codec_file(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".cll") || name.ends_with(".pse");
}

/// The paths that a codec's name joins: "encode.pse+decode.pse" are two files of one program. A plus sign separates
/// paths only after ".cll" or ".pse".
inline std::vector<std::string> codec_files(std::string_view name) {
  std::vector<std::string> files;
  for (std::size_t from = 0; from < name.size();) {
    const std::size_t plus = name.find('+', from);
    if (plus == std::string_view::npos) break;
    const std::string_view file = name.substr(0, plus);
    from = plus + 1;
    if (!file.ends_with(".cll") && !file.ends_with(".pse")) continue;
    files.emplace_back(file);
    name.remove_prefix(plus + 1);
    from = 0;
  }
  files.emplace_back(name);
  return files;
}

/// The name of a codec whose program has these files.
inline std::string codec_file_name(const std::vector<std::string>& files) {
  std::string name;
  for (const std::string& file : files) name += (name.empty() ? "" : "+") + file;
  return name;
}

}  // namespace casync
