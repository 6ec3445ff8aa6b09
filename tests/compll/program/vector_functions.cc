// SPDX-License-Identifier: Apache-2.0
//
// The functions of operators that are one call, on a CPU: without one of them this does not compile.
#include <hwy/highway.h>
// After it.
#include "compll/ops/cpu/vector_form-inl.h"

namespace casync::compll::test {

#define COMPLL_VECTOR(id, word, ...) using HWY_NAMESPACE::word;
#include "compll/lang/operators.def"

}  // namespace casync::compll::test
