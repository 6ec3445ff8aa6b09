// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tools/casync/bench/table.h"
#include "tools/measure/bench_codec.h"

namespace casync::tools {

/// Measures and prints these codecs ("int4:block=64"), one row each, with the fastest copy measured in the same
/// run. Errors as parse_codec_choice and make_codec, ahead of all measuring.
Status print_codec_bench(const std::vector<std::string>& codecs, const CodecBenchOptions& options, Format format);

}  // namespace casync::tools
