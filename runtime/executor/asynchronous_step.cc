// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/asynchronous_step.h"

#include <utility>

#include "runtime/executor/gradient_run.h"

namespace casync::runtime {

AsynchronousStep::AsynchronousStep(bool asks_owners) : asks_owners_(asks_owners) {}
AsynchronousStep::~AsynchronousStep() = default;

void AsynchronousStep::own(std::unique_ptr<GradientRun> side) { owner_side_ = std::move(side); }

}  // namespace casync::runtime
