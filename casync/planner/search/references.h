// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "casync/planner/search/evaluator.h"

namespace casync {

/// Plans that people would write, and those of earlier planners, as far as plans can say them. find_plan says how much
/// worse than the best of them a found plan may be.
///
///   plain                  nothing compressed, each strategy, partitions of 1 MiB
///   one codec              everything in it, over ps and, on nodes, hierarchical
///   SeCoPa (HiPress)       compress or not and how many partitions, by its sums of stages; ps, each codec
///   WFBP                   each gradient whole (ps) or in as many partitions as ranks (ring), in order of readiness
///   MG-WFBP                the same with messages fused that wait for the link
///   ByteScheduler          partitions of 2 and of 8 MiB, the most urgent first
///
/// Left out: BSP's barrier after the backward pass, for a gradient starts when it is ready, which is never later;
/// SeCoPa over a ring; and what methods.h has, which no plan can say. One codec goes over a ring if may_merge_again().
/// If a request has limits, each gradient is decided as near to that as they allow. Errors as Evaluator::option, of a
/// codec that is not known.
Result<std::vector<PlannedStep>> reference_plans(Evaluator& evaluator);

/// HiPress's rule for one gradient: the number of partitions K from 1 to N with the least sum of stages, compressed
/// with `codec` if that is less than not compressed.
Result<Decision> secopa(Evaluator& evaluator, std::size_t at, const CodecChoice& codec);

}  // namespace casync
