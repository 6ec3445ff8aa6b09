// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/simulator/outlines/outline_writer.h"

namespace casync {

/// Each strategy's outline, ps_outline, ring_outline, ...: writes the stages of a gradient on ranks that are all alike.
/// With `coded_terms` the codes of all ranks reach one merge.
#define CASYNC_STRATEGY(kind, word, ...) void word##_outline(OutlineWriter& out, bool coded_terms);
#include "casync/model/strategies.def"

/// The same of a scattered gradient.
void reduce_scatter_outline(OutlineWriter& out, bool coded_terms);

}  // namespace casync
