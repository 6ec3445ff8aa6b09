// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compll/codec/codec.h"
#include "compll/codec/generated_codec.h"
#include "tests/compll/support/programs.h"

namespace casync::compll {

/// A program, interpreted and compiled.
struct Pair {
  std::unique_ptr<Codec> meaning, generated;
};

/// The pair of a codec of ours or of a program of this folder.
inline Pair pair_of(const GeneratedCodec& codec, const Parameters& parameters = {}) {
  const std::string name = codec.declares.name;
  Result<std::unique_ptr<Codec>> generated = make_generated_codec(codec, parameters);
  REQUIRE(generated.status().text() == "OK");
  const std::vector<std::string> ours = codec_names();
  const bool is_ours = std::find(ours.begin(), ours.end(), name) != ours.end();
  const std::string text = is_ours ? source_of(name) : test_program(name);
  return {from_text(name, text, parameters).codec, std::move(*generated)};
}

}  // namespace casync::compll
