// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "base/nearest.h"
#include "compll/codec/registry.h"
#include "compll/codec/rounds_codec.h"

namespace casync::compll {

Result<std::unique_ptr<RoundsCodec>> make_built_in_rounds_codec(const std::string& name,
                                                                std::span<const std::pair<std::string, double>>) {
  const std::vector<std::string> names = rounds_codec_names();
  return invalid_argument("no codec of rounds is called `" + name + "`" +
                          hint(name, std::vector<std::string_view>(names.begin(), names.end())));
}

std::vector<std::string> rounds_codec_names() { return {}; }

}  // namespace casync::compll
