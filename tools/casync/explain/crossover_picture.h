// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "casync/planner/search/alternatives.h"

namespace casync::tools {

/// "100 Mb/s", "12.5 Gb/s"; "4 KiB", "1 MiB".
std::string text_of_bandwidth(double bytes_per_second);
std::string text_of_size(double bytes);

/// A map of sizes (across) and bandwidths (up): the colour names the fastest way, uncompressed or with a codec; the
/// darker, the more it saves. A dashed line marks `here`, a bandwidth. A page of its own: no script, no font, nothing
/// from outside.
std::string crossover_svg(const Crossover& crossover, double here, const std::string& title);

}  // namespace casync::tools
