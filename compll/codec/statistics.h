// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"
#include "base/units.h"

namespace casync::compll {

/// Looks at the entries of a payload's blocks, which begin at `sections`, one for each section. DataLoss: no encoder
/// writes such an entry, or there is one that is not finite although `finite`, or none although not `finite`.
using StatisticsCheck = Status (*)(const std::byte* const* sections, Elements blocks, bool finite);

/// The check of a library codec whose blocks have entries with known limits (docs/payloads.md); else null.
StatisticsCheck statistics_check_of(std::string_view codec);

}  // namespace casync::compll
