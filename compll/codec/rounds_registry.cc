// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <string_view>

#include "base/nearest.h"
#include "compll/codec/registry.h"
#include "compll/codec/rounds_codec.h"
#include "compll/codec/rounds_info.h"

namespace casync::compll {

double nominal_bits(const RoundsShape& nominal) {
  const Elements floats = std::accumulate(nominal.exchanged.begin(), nominal.exchanged.end(), Elements{0});
  return 32.0 * static_cast<double>(floats) / static_cast<double>(kNominalRows * kNominalRows);
}

Status refuse_rounds(const std::string& name) {
  return invalid_argument("codec `" + name +
                          "` exchanges in rounds within a step, so it runs in a session and not by itself");
}

Result<std::unique_ptr<RoundsCodec>> make_built_in_rounds_codec(const std::string& name,
                                                                std::span<const std::pair<std::string, double>>) {
  const std::vector<std::string> names = rounds_codec_names();
  return invalid_argument("no codec of rounds is called `" + name + "`" +
                          hint(name, std::vector<std::string_view>(names.begin(), names.end())));
}

std::vector<std::string> rounds_codec_names() { return {}; }

}  // namespace casync::compll
