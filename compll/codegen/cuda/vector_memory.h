// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll {

/// The bytes of a part of the workspace: `4 * n`.
std::string cuda_space_bytes(const cuda_vector::Space& space);

/// The memory at a part of the workspace, as an array of this type: `part.at<float>(at.sent)`.
std::string cuda_space(const cuda_vector::Routine& plan, cuda_vector::SpaceId space, const std::string& type);

std::string cuda_address(const cuda_vector::Routine& plan, const cuda_vector::Address& address);

}  // namespace casync::compll
