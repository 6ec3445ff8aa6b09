// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/status.h"
#include "compll/codec/codec.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/session/declarations.h"

namespace casync::runtime {

/// The part of the way to the mean of the copies that suits `codec`: half of what it keeps of a Gaussian vector, in
/// squares. It depends on the codec alone, so all ranks have the same. 0 or less: the codec loses all that there is,
/// and no copy would come nearer to what it is a copy of.
double suitable_gamma(const compll::Codec& codec);

/// PlanError: the decision's codec cannot carry differences to the neighbours' copies; says why, and what can.
Status check_difference_gossip(const Declared& declared);

/// make_run() for gossip on a ring with a codec that loses something (CHOCO-SGD, Koloskova, Stich, Jaggi 2019): each
/// rank has a copy of its own parameters and of each neighbour's. It sends the code of the difference between its
/// parameters and their copy; everybody who has the copy adds the decoded difference to it; then parameters go the part
/// gamma of the way from the rank's own copy to the mean of its copies. A copy has the same bytes on all ranks that
/// have it. Gradients and a consensus are exchanged uncompressed by the decision's strategy, and a consensus sets all
/// copies to its result. The copies are what the run keeps.
Result<std::unique_ptr<GradientRun>> make_difference_gossip(const Declared& declared, const Topology& topology,
                                                            Rank self, std::size_t first_owner);

}  // namespace casync::runtime
