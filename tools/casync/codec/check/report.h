// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compll/codec/codec.h"
#include "tools/casync/codec/check/properties.h"
#include "tools/casync/codec_figures/figures.h"

namespace casync::tools {

/// The compilation of the codec.
struct Making {
  std::string device;           ///< a GPU's name; "": this machine's processors
  std::string compiler;         ///< with a GPU's architecture: `NVRTC 13.0 for sm_90`
  double text_seconds = 0;      ///< from the source to C++, or to CUDA C++
  double compiled_seconds = 0;  ///< until it was loaded
  bool built = false;           ///< by a compiler; else it was in the cache
  std::string why_interpreted;  ///< "" where it was compiled
};

/// The findings on one device.
struct Part {
  Making making;
  std::vector<Verdict> verdicts;
  std::variant<Figures, RoundsFigures> figures;
};

/// The findings about a codec. Without a part on a GPU: the reason.
struct Report {
  compll::CodecInfo info;
  std::optional<Part> cpu, cuda;
  std::string why_not_cuda;  ///< "" also where it was not asked for
};

/// Returns true if the codec keeps all its properties on every device tried.
bool holds(const Report& report);

/// All of it in words, or as one JSON object.
void print(const Report& report);
nlohmann::ordered_json json_of(const Report& report);

}  // namespace casync::tools
