// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/bench_transport.h"
#include "tools/casync/bench/table.h"

namespace casync::tools {

/// Measures and prints, one row per size. Errors as bench_transport.
Status print_transport_bench(const TransportBenchOptions& options, Format format);

}  // namespace casync::tools
