// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "compll/codec/codec.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// A codec that interprets its program: what the program means, slowly. With feedback, the residual is what decode
/// does not give back. Merging decodes, adds in order, scales and encodes again.
/// InvalidArgument: a parameter that the program does not have, or a value out of its range.
Result<std::unique_ptr<Codec>> make_program_codec(std::shared_ptr<const Program> program,
                                                  std::span<const std::pair<std::string, double>> parameters = {});

}  // namespace casync::compll
