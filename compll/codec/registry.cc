// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/registry.h"

#include <algorithm>
#include <cstdio>

#include "base/nearest.h"
#include "compll/codec/declaration.h"
#include "compll/codec/generated_codec.h"
#include "compll/codec/none.h"
#include "compll/codec/rounds_info.h"
#include "compll/codec/written.h"

namespace casync::compll {
namespace {

/// The only codec that is no program: its payload is the gradient's own memory.
const Codec& none() {
  static const std::unique_ptr<Codec> codec = make_none();
  return *codec;
}

Status unknown_codec(const std::string& name) {
  std::vector<std::string> names = codec_names();
  for (const std::string& each : rounds_codec_names()) names.push_back(each);
  return invalid_argument("no codec is called `" + name + "`" +
                          hint(name, std::vector<std::string_view>(names.begin(), names.end())) +
                          "; `casync codec list` shows all, and a file's name ends in .cll");
}

}  // namespace

Result<std::unique_ptr<Codec>> make_built_in_codec(const std::string& name,
                                                   std::span<const std::pair<std::string, double>> parameters) {
  if (name == none().info().name) {
    if (!parameters.empty()) return unknown_parameter(none().info(), parameters.front().first);
    return make_none();
  }
  for (const GeneratedCodec* written : written_codecs()) {
    if (written->declares.name == name) return make_generated_codec(*written, parameters, 0, statistics_check_of(name));
  }
  for (const auto all : {written_patches(), written_for_exchanges(), written_for_states()}) {
    for (const GeneratedCodec* written : all) {
      if (written->declares.name == name) return make_generated_codec(*written, parameters);
    }
  }
  for (const GeneratedCodec* written : written_rounds()) {
    if (written->declares.name == name) return refuse_rounds(name);
  }
  return unknown_codec(name);
}

std::string built_in_with_number(std::uint8_t number) {
  if (none().info().number == number) return none().info().name;
  for (const auto all :
       {written_codecs(), written_rounds(), written_patches(), written_for_exchanges(), written_for_states()}) {
    for (const GeneratedCodec* written : all) {
      if (written->declares.number == number) return written->declares.name;
    }
  }
  return "";
}

std::string text_of_digest(std::uint64_t digest) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
  return text;
}

std::vector<std::string> codec_names() {
  std::vector<std::string> names = {none().info().name};
  for (const GeneratedCodec* written : written_codecs()) names.push_back(written->declares.name);
  return names;
}

std::vector<std::string> patch_names() {
  std::vector<std::string> names;
  for (const GeneratedCodec* written : written_patches()) names.push_back(written->declares.name);
  return names;
}

Status check_no_exchange(const std::string& name) {
  for (const GeneratedCodec* written : written_for_exchanges()) {
    if (written->declares.name != name) continue;
    return invalid_argument("codec `" + name +
                            "` makes whole numbers of a gradient's elements: it carries what codecs of rounds "
                            "exchange; use another codec for gradients");
  }
  for (const GeneratedCodec* written : written_for_states()) {
    if (written->declares.name != name) continue;
    return invalid_argument("codec `" + name +
                            "` works on what sessions keep from step to step: use another codec for gradients");
  }
  return Status::ok();
}

Status check_no_patch(const std::string& name) {
  const std::vector<std::string> names = patch_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) return Status::ok();
  return invalid_argument("codec `" + name +
                          "` encodes the difference to the last version of one rank's weights, and differences of "
                          "several ranks have no sum: encode and decode it by itself (`casync.Codec`), and use another "
                          "codec for gradients");
}

}  // namespace casync::compll
