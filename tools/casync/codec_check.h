// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace casync::tools {

/// `casync codec check`: compiles a codec's file, tries what it has to keep, measures, and prints all of it. `holds`
/// says whether it keeps everything. Errors as make_codec.
Status check_codec_file(const std::string& path, const std::vector<std::pair<std::string, double>>& parameters,
                        double seconds, bool as_json, bool* holds);

}  // namespace casync::tools
