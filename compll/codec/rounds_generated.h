// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "compll/codec/rounds_codec.h"
#include "compll/ops/generated.h"

namespace casync::compll {

/// make_generated_codec (generated_codec.h) of a codec that exchanges in rounds.
Result<std::unique_ptr<RoundsCodec>> make_generated_rounds(
    const GeneratedCodec& generated, std::span<const std::pair<std::string, double>> parameters = {},
    std::uint64_t digest = 0);

}  // namespace casync::compll
