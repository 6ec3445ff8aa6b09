// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <string_view>

#include "base/nearest.h"
#include "compll/codec/registry.h"
#include "compll/codec/rounds_codec.h"
#include "compll/codec/rounds_generated.h"
#include "compll/codec/rounds_info.h"
#include "compll/codec/written.h"

namespace casync::compll {

double nominal_bits(const RoundsShape& nominal) {
  const Elements floats = std::accumulate(nominal.exchanged.begin(), nominal.exchanged.end(), Elements{0});
  return 32.0 * static_cast<double>(floats) / static_cast<double>(kNominalRows * kNominalRows);
}

Status refuse_rounds(const std::string& name) {
  return invalid_argument("codec `" + name +
                          "` exchanges in rounds within a step, so it runs in a session and not by itself");
}

Result<std::unique_ptr<RoundsCodec>> make_built_in_rounds_codec(
    const std::string& name, std::span<const std::pair<std::string, double>> parameters) {
  for (const GeneratedCodec* written : written_rounds()) {
    if (written->declares.name == name) return make_generated_rounds(*written, parameters);
  }
  std::string listed;
  const std::vector<std::string> names = rounds_codec_names();
  for (const std::string& each : names) listed += (listed.empty() ? "" : ", ") + each;
  return invalid_argument("no codec that exchanges in rounds is called `" + name + "`" +
                          hint(name, std::vector<std::string_view>(names.begin(), names.end())) + "; there is " +
                          listed);
}

std::vector<std::string> rounds_codec_names() {
  std::vector<std::string> names;
  for (const GeneratedCodec* written : written_rounds()) names.push_back(written->declares.name);
  return names;
}

}  // namespace casync::compll
