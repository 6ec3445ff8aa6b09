// SPDX-License-Identifier: Apache-2.0
//
// Functions of generated text that need no run, on a CPU. The functions of operators that are one call: without one of
// them this does not compile.
#include <hwy/highway.h>
// After it.
#include "compll/ops/cpu/vector_form-inl.h"

namespace casync::compll::test {

#define COMPLL_VECTOR(id, word, ...) using HWY_NAMESPACE::word;
#include "compll/lang/operators.def"

// A tile has whole blocks of all sizes, or is larger than any vector: no number of 64 bits is a multiple of the last.
static_assert(HWY_NAMESPACE::tile_of({}) == 4096);
static_assert(HWY_NAMESPACE::tile_of({48, 5}) == 17 * 240);
static_assert(HWY_NAMESPACE::tile_of({65536, 65521}) == 65536ULL * 65521);
static_assert(HWY_NAMESPACE::tile_of({65521, 65519, 65497}) == 1ULL << 33);
static_assert(HWY_NAMESPACE::tile_of({65521, 65519, 65497, 65479, 3}) == 1ULL << 33);

}  // namespace casync::compll::test
