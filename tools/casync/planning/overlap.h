// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "casync/simulator/training.h"

namespace casync::tools {

/// A sentence if nearly all gradients are ready only when the backward pass ends, so that none of them can travel
/// during it, with what to do about it in PyTorch; else "". DDP does this to a model of one bucket.
std::string text_of_no_overlap(const Training& training);

}  // namespace casync::tools
