// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "compll/codec/rounds_codec.h"
#include "compll/lang/program.h"
#include "tools/bench_codec.h"
#include "tools/casync/check/properties.h"
#include "tools/casync/check/report.h"

namespace casync::tools {

/// A codec that exchanges within a step, and what it is held to beyond what holds for all.
struct CheckedRounds {
  const compll::RoundsCodec& codec;
  const compll::RoundsCodec* meaning = nullptr;  ///< the same, interpreted; null: nothing to compare with
  const compll::Program& program;
};

/// Tries steps of three ranks on matrices of all shapes and sorts. In a fixed order, the same in every run.
std::vector<Verdict> check_rounds_properties(const CheckedRounds& checked);

/// What it costs and what is lost.
struct RoundsFigures {
  double bits = 0;     ///< a rank hands to exchanges for each element of a matrix of 1024 x 1024
  double first = 0;    ///< ||result - mean||^2 / ||mean||^2 of one step of Gaussian gradients, 256 x 256
  double steps16 = 0;  ///< the same of what 16 steps of the same gradients give together
  std::optional<OperationTime> turns;  ///< of one rank, a matrix of 1024 x 1024 after the other
  Elements total = 0;                  ///< elements of all these
  double copy_gb_s = 0;
};

/// One core, `seconds` for the measurement; 0 measures no speed.
RoundsFigures measure_rounds(const compll::RoundsCodec& codec, double seconds);

/// All of it in words, or as one JSON object.
void print_rounds_check(const compll::CodecInfo& info, const Making& making, const std::vector<Verdict>& verdicts,
                        const RoundsFigures& figures);
nlohmann::ordered_json rounds_check_json(const compll::CodecInfo& info, const Making& making,
                                         const std::vector<Verdict>& verdicts, const RoundsFigures& figures);

}  // namespace casync::tools
