// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "compll/codec/codec.h"
#include "compll/codec/statistics.h"
#include "compll/ops/generated.h"

namespace casync::compll {

/// The info of a codec that was written in the language; `values` are the parameters' initial ones. If it keeps a
/// residual, or offers to, the parameter `feedback` follows its own.
CodecInfo info_of(const GeneratedDeclaration& declares);

/// The same with these parameters and, if it was loaded from a file, that file's digest.
/// InvalidArgument: no such parameter, or a value out of its range.
Result<CodecInfo> info_of(const GeneratedCodec& generated, std::span<const std::pair<std::string, double>> parameters,
                          std::uint64_t digest);

/// A codec that was written in the language and compiled, with these parameters; the others take their initial
/// values. `generated` lives as long as the program runs; `digest` is that of the file it was loaded from.
/// `check_statistics` checks more of a received payload, if it is not null.
/// InvalidArgument: no such parameter, a value out of its range, or a codec that exchanges in rounds.
Result<std::unique_ptr<Codec>> make_generated_codec(const GeneratedCodec& generated,
                                                    std::span<const std::pair<std::string, double>> parameters = {},
                                                    std::uint64_t digest = 0,
                                                    StatisticsCheck check_statistics = nullptr);

}  // namespace casync::compll
