// SPDX-License-Identifier: Apache-2.0
//
// The terms of a profile besides links, memory and codecs. Each puts its term into the profile, the measured points
// into `raw` with the term's errors at them, and a sentence into `notes`.
#pragma once

#include <vector>

#include "base/status.h"
#include "tools/casync/profile/job.h"
#include "tools/casync/profile/measure.h"

namespace casync::tools {

/// A task costs what a step of tiny gradients that travel together inside a node takes longer for each more task. A
/// message costs, at a link's port, what a step over its transport takes longer for each more message when each is
/// alone, beyond what the bare link takes for it. No steps: nothing.
void add_task_costs(const ProfileOptions& options, MeasuredProfile& made);

/// Codecs together with training on `processors`, those of this rank. Errors as measure_contention.
Status add_contention(const ProfileOptions& options, std::vector<int> processors, MeasuredProfile& made);

/// Makes `send` and `receive`, the processor seconds of a message that alone is under way, together take those of
/// `both`, a message each way at once, in the proportion that they have. Points of the same sizes; a size at which
/// neither took time stays.
void share_out(const std::vector<Curve::Point>& both, std::vector<Curve::Point>& send,
               std::vector<Curve::Point>& receive);

/// Ranks that share a processor work at the same time, and a codec or a message takes each of them as many times as
/// long as there are ranks on the processor. Everything else was measured with their competition, or does not compute.
void share_processors(double ranks_of_each, MeasuredProfile& made);

/// Several ranks of the job at one port, inside a node and between nodes, where the job has as many. Collective. Errors
/// as ProfileJob::measure.
Status add_fans(const ProfileOptions& options, ProfileJob& job, MeasuredProfile& made);

}  // namespace casync::tools
