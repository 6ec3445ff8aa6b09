// SPDX-License-Identifier: Apache-2.0
//
// The files that a record directory gets: for the planner, and not worth a training run, so that errors are logged.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "casync/model/gradient.h"
#include "runtime/session/gradient_sampler.h"
#include "runtime/session/rank_paces.h"
#include "runtime/session/recorder.h"

namespace casync::runtime {

/// Writes `directory`/model.txtpb: the training of rank 0 of `ranks`, and the ranks that differ. `gradients` are by the
/// recorder's numbers, `others` as RankPaces has them.
void write_model(const std::string& directory, int ranks, const Recorder& recorder,
                 std::span<const GradientSpec> gradients, const std::map<Rank, std::optional<Pace>>& others);

/// Writes `directory`/gradients.safetensors, if there is any sample. With a recorder: only of the gradients that its
/// training has.
void write_samples(const std::string& directory, const Recorder* recorder, std::span<const GradientSpec> gradients,
                   GradientSampler& sampler);

}  // namespace casync::runtime
