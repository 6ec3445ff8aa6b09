// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/casync/bench/table.h"
#include "tools/measure/bench_transport.h"

namespace casync::tools {

/// Measures and prints, one row per size. Errors as bench_transport.
Status print_transport_bench(const TransportBenchOptions& options, Format format);

}  // namespace casync::tools
