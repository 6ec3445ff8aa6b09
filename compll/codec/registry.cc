// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/registry.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "base/nearest.h"
#include "compll/codec/declaration.h"
#include "compll/codec/generated_codec.h"
#include "compll/codec/half.h"
#include "compll/codec/levels.h"
#include "compll/codec/none.h"
#include "compll/codec/onebit.h"
#include "compll/codec/rounds_info.h"
#include "compll/codec/written.h"

namespace casync::compll {
namespace {

const std::vector<Declaration>& declarations() {
  static const std::vector<Declaration> all = {declare_none(), declare_bf16(), declare_fp16(),
                                               declare_int8(), declare_int4(), declare_onebit()};
  return all;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string hint_of(const std::string& name, const std::vector<std::string>& names) {
  return hint(name, std::vector<std::string_view>(names.begin(), names.end()));
}

Status unknown_codec(const std::string& name) {
  std::vector<std::string> names = codec_names();
  for (const std::string& each : rounds_codec_names()) names.push_back(each);
  return invalid_argument("no codec is called `" + name + "`" + hint_of(name, names) + "; the codecs are " +
                          listed(names) + ", and files that end in .cll");
}

Status unknown_parameter(const CodecInfo& info, const std::string& name) {
  std::vector<std::string> names;
  for (const CodecParameter& parameter : info.parameters) names.push_back(parameter.name);
  return invalid_argument("codec `" + info.name + "` has no parameter `" + name + "`" + hint_of(name, names) +
                          (names.empty() ? "; it takes none" : "; it takes " + listed(names)));
}

bool is_valid(const CodecParameter& parameter, double value) {
  if (!(value >= parameter.least && value <= parameter.most) || value != std::floor(value)) return false;
  return parameter.name != "block" || std::has_single_bit(static_cast<std::uint64_t>(value));
}

Status refuse(const CodecInfo& info, const CodecParameter& parameter, double value) {
  std::ostringstream text;
  text << "codec `" << info.name << "`: parameter `" << parameter.name << "` is " << value << ", expected "
       << (parameter.name == "block" ? "a power of two" : "a whole number") << " from " << parameter.least << " to "
       << parameter.most;
  return invalid_argument(text.str());
}

Status set_parameter(CodecInfo& info, const std::string& name, double value) {
  for (std::size_t i = 0; i < info.parameters.size(); ++i) {
    if (info.parameters[i].name != name) continue;
    if (!is_valid(info.parameters[i], value)) return refuse(info, info.parameters[i], value);
    info.values[i] = value;
    return Status::ok();
  }
  return unknown_parameter(info, name);
}

}  // namespace

Result<std::unique_ptr<Codec>> make_built_in_codec(const std::string& name,
                                                   std::span<const std::pair<std::string, double>> parameters) {
  for (const Declaration& declaration : declarations()) {
    if (declaration.info.name != name) continue;
    CodecInfo info = declaration.info;
    for (const CodecParameter& parameter : info.parameters) info.values.push_back(parameter.initial);
    for (const auto& [key, value] : parameters) CASYNC_RETURN_IF_ERROR(set_parameter(info, key, value));
    apply_parameters(info);
    return declaration.make(info);
  }
  for (const GeneratedCodec* written : written_codecs()) {
    if (written->declares.name == name) return make_generated_codec(*written, parameters);
  }
  for (const GeneratedCodec* written : written_rounds()) {
    if (written->declares.name == name) return refuse_rounds(name);
  }
  return unknown_codec(name);
}

std::string built_in_with_number(std::uint8_t number) {
  for (const Declaration& declaration : declarations()) {
    if (declaration.info.number == number) return declaration.info.name;
  }
  for (const GeneratedCodec* written : written_codecs()) {
    if (written->declares.number == number) return written->declares.name;
  }
  for (const GeneratedCodec* written : written_rounds()) {
    if (written->declares.number == number) return written->declares.name;
  }
  return "";
}

std::string text_of_digest(std::uint64_t digest) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
  return text;
}

std::vector<std::string> codec_names() {
  std::vector<std::string> names;
  for (const Declaration& declaration : declarations()) names.push_back(declaration.info.name);
  for (const GeneratedCodec* written : written_codecs()) {
    const std::string name = written->declares.name;
    // What is also written by hand is faster that way.
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace casync::compll
