// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "compll/lang/program.h"

namespace casync::compll {

/// Returns true if an operator of the routine gives these places, none of them twice.
bool gives_distinct_places(const Routine& routine, const Term& places);

/// Returns true if these places come from a section that encode and merge fill by such an operator.
bool receives_distinct_places(const Program& program, const Routine& routine, const Term& places);

/// Returns a bit for each section of the payload that the routine reads only as the places or the values of this
/// scatter; 0 if its places are no such section.
std::uint32_t sections_of_scatter(const Routine& routine, const Term& scatter);

}  // namespace casync::compll
