// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "compll/codec/codec.h"
#include "compll/codec/statistics.h"
#include "compll/ops/coding.h"
#include "compll/ops/generated.h"

namespace casync::compll {

/// The codings of its sections.
std::vector<Coding> codings_of(const GeneratedCodec& generated);

/// A generated codec that encodes a whole partition at once (GeneratedCodec::vector_form). `info` has its parameters.
/// `check_statistics` checks more of a received payload, if it is not null.
std::unique_ptr<Codec> make_vector_form_codec(CodecInfo info, const GeneratedCodec& generated,
                                              StatisticsCheck check_statistics);

}  // namespace casync::compll
