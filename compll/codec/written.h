// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "compll/ops/generated.h"

namespace casync::compll {

/// The codecs of compll/codecs, compiled, in the order of their names.
std::span<const GeneratedCodec* const> written_codecs();

}  // namespace casync::compll
