// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/random_programs/calls.h"

namespace casync::compll::test {

std::span<const CallForm> call_forms() {
  static const std::vector<CallForm> kForms = {
      {{"uint", Kind::kUint},
       true,
       true,
       "histogram($from, $size, [&](float $x) -> int { return $x * 4 + 3; })",
       {{"uint* h = histogram(g, 16);", "2:21: a bin is an integer, this is float"},
        {"uint* h = histogram(range(g.size), g.size);", "2:36: the bins of `histogram` are a number from 0 to 65536"},
        {"uint* h = histogram(g, 16, [&](float x) -> float { return x; });",
         "2:28: a bin is an integer, this is float"},
        {"uint* h = histogram(g, 65537, [&](float x) -> int { return x; });",
         "2:24: the bins of `histogram` are a number from 0 to 65536"}}},
  };
  return kForms;
}

}  // namespace casync::compll::test
