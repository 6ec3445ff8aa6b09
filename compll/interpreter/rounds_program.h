// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "compll/codec/rounds_codec.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// A codec of rounds that interprets its program: what the program means, slowly. Each turn computes everything anew
/// from the gradient, the states and what was exchanged.
/// InvalidArgument: the program has no `synchronize`; a parameter that it does not have, or a value out of its range.
Result<std::unique_ptr<RoundsCodec>> make_rounds_program(
    std::shared_ptr<const Program> program, std::span<const std::pair<std::string, double>> parameters = {});

}  // namespace casync::compll
