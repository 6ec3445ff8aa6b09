// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compll/codec/codec.h"
#include "tools/casync/check/figures.h"
#include "tools/casync/check/properties.h"

namespace casync::tools {

/// How the codec came to be.
struct Making {
  std::string device;           ///< a GPU's name; "": this machine's processors
  std::string compiler;         ///< with a GPU's architecture: `NVRTC 13.0 for sm_90`
  double text_seconds = 0;      ///< from the source to C++, or to CUDA C++
  double compiled_seconds = 0;  ///< until it was loaded
  bool built = false;           ///< by a compiler; else it was in the cache
  std::string why_interpreted;  ///< "" where it was compiled
};

/// What was found on one device.
struct Part {
  Making making;
  std::vector<Verdict> verdicts;
  std::variant<Figures, RoundsFigures> figures;
};

/// What was found of a codec. Where there is no part on a GPU, why.
struct Report {
  compll::CodecInfo info;
  std::optional<Part> cpu, cuda;
  std::string why_not_cuda;  ///< "" also where it was not asked for
};

/// Whether it keeps everything, wherever it was tried.
bool holds(const Report& report);

/// All of it in words, or as one JSON object.
void print(const Report& report);
nlohmann::ordered_json json_of(const Report& report);

}  // namespace casync::tools
