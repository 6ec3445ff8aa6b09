// SPDX-License-Identifier: Apache-2.0
//
// Text for programs in vector form, which need all elements at once: that select, sort, rotate or keep states. Each
// statement becomes one line or one function of an element; the compiler joins the ones that are used once.
#pragma once

#include "compll/codegen/text/writer.h"
#include "compll/ir/vector/cpu/plan.h"

namespace casync::compll {

/// Writes the functions of GeneratedVectorForm that the program has.
void write_vector(const cpu_vector::Plan& plan, Writer& out);

}  // namespace casync::compll
