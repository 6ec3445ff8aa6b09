// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace casync {

/// Whether a codec's name is the path of its program: it has a slash or ends in ".cll". No built-in codec does.
inline bool is_codec_file(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".cll");
}

}  // namespace casync
