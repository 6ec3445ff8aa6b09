// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "base/nearest.h"
#include "compll/codec/registry.h"
#include "compll/codec/rounds_codec.h"
#include "compll/codec/rounds_generated.h"
#include "compll/codec/rounds_info.h"
#include "compll/codec/written.h"

namespace casync::compll {
namespace {

constexpr const char* kEliasCodec = "exchange_elias";

}  // namespace

std::string codec_of(ExchangeKind kind) { return kind == ExchangeKind::kElias ? kEliasCodec : "none"; }

double bits_of(ExchangeKind kind) {
  if (kind != ExchangeKind::kElias) return 32;
  static const double bits = make_built_in_codec(kEliasCodec).value()->info().bits_per_element;
  return bits;
}

double exchanged_bits(const RoundsCodec& codec, Elements rows, Elements columns) {
  const RoundsShape shape = codec.shape(rows, columns);
  double bits = 0;
  for (std::size_t i = 0; i < shape.exchanged.size(); ++i) {
    bits += bits_of(codec.info().exchanges[i]) * static_cast<double>(shape.exchanged[i]);
  }
  return bits;
}

double nominal_bits(const RoundsCodec& codec) {
  return exchanged_bits(codec, kNominalRows, kNominalRows) / static_cast<double>(kNominalRows * kNominalRows);
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
