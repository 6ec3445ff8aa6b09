// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "compll/codec/rounds_codec.h"
#include "compll/lang/program.h"
#include "tools/casync/codec/check/properties.h"

namespace casync::tools {

/// A codec that exchanges within a step, and what it is held to beyond what holds for all.
struct CheckedRounds {
  const compll::RoundsCodec& codec;
  const compll::RoundsCodec* meaning = nullptr;  ///< the same, interpreted; null: nothing to compare with
  const compll::Program& program;
};

/// Tries steps of three ranks on matrices of all shapes and sorts. In a fixed order, the same in every run.
std::vector<Verdict> check_rounds_properties(const CheckedRounds& checked);

}  // namespace casync::tools
