// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compll/codec/codec.h"
#include "tools/bench_codec.h"
#include "tools/casync/check/properties.h"

namespace casync::tools {

/// How the codec came to be.
struct Making {
  double text_seconds = 0;      ///< from the source to C++
  double compiled_seconds = 0;  ///< until it was loaded
  bool built = false;           ///< by a compiler; else it was in the cache
  std::string why_interpreted;  ///< "" where it was compiled
};

/// What it costs and what is lost.
struct Figures {
  double bits = 0;         ///< an element, of a large gradient
  double gaussian = 0;     ///< ||D(E(x)) - x||^2 / ||x||^2
  double heavy_tails = 0;  ///< the same
  std::optional<CodecBenchResult> speed;
  double copy_gb_s = 0;
};

/// One core, `seconds` for each measurement; 0 measures no speed.
Figures measure_figures(const compll::Codec& codec, double seconds);

/// What the codec is, how it came to be and what it keeps: the beginning of the two below.
void print_verdicts(const compll::CodecInfo& info, const Making& making, const std::vector<Verdict>& verdicts);
nlohmann::ordered_json verdicts_json(const compll::CodecInfo& info, const Making& making,
                                     const std::vector<Verdict>& verdicts);

/// All of it in words, or as one JSON object.
void print_check(const compll::CodecInfo& info, const Making& making, const std::vector<Verdict>& verdicts,
                 const Figures& figures);
nlohmann::ordered_json check_json(const compll::CodecInfo& info, const Making& making,
                                  const std::vector<Verdict>& verdicts, const Figures& figures);

}  // namespace casync::tools
