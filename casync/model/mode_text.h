// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "casync/model/plan.h"

namespace casync {

/// "local_sgd { every: 4 }", as plan files have it; "" if every step exchanges and waits.
std::string text_of(const SyncMode& mode);

}  // namespace casync
