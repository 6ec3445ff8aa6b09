// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/simulator/outlines/outline_writer.h"

namespace casync {

/// One function for each strategy: writes the stages of a gradient on ranks that are all alike. With `coded_terms` the
/// codes of all ranks reach one merge.
void ps_outline(OutlineWriter& out, bool coded_terms);
void ring_outline(OutlineWriter& out, bool coded_terms);
void all_gather_outline(OutlineWriter& out, bool coded_terms);
void tree_outline(OutlineWriter& out, bool coded_terms);
void hierarchical_outline(OutlineWriter& out, bool coded_terms);
void double_tree_outline(OutlineWriter& out, bool coded_terms);
void reduce_scatter_outline(OutlineWriter& out, bool coded_terms);
void hierarchical_all_gather_outline(OutlineWriter& out, bool coded_terms);

}  // namespace casync
