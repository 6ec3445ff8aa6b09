// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll {

/// The bytes of a part of the workspace: `4 * n`.
std::string cuda_space_bytes(const cuda_whole::Space& space);

/// The memory at a part of the workspace, as an array of this type: `part.at<float>(at.sent)`.
std::string cuda_space(const cuda_whole::Routine& plan, cuda_whole::SpaceId space, const std::string& type);

std::string cuda_address(const cuda_whole::Routine& plan, const cuda_whole::Address& address);

}  // namespace casync::compll
