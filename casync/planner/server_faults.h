// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "casync/model/plan.h"

namespace casync {

/// The fault of the servers that `plan`'s default or one of its rules names: a strategy, its own or the default's, that
/// has no servers, or more of them than the plan's world has ranks. "": none.
std::string fault_of_servers(const Plan& plan, const Choice& choice);
/// The same of an entry, which has its rule's strategy where it names none.
std::string fault_of_servers(const Plan& plan, const Entry& entry);

}  // namespace casync
