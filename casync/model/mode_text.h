// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "casync/model/plan.h"

namespace casync {

/// "local_sgd { every: 4 }", as plan files have it; "" if every step exchanges and waits.
std::string text_of(const SyncMode& mode);

/// The local SGD whose text_of() this is; unset: that of none that a plan may have.
std::optional<SyncMode> local_sgd_from(std::string_view text);

}  // namespace casync
