// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "base/units.h"
#include "runtime/control/rendezvous/store.h"

namespace casync::runtime {

/// The key-value store of the PMIx server that mpirun or srun started this process with. Every open store of a process
/// has keys of its own, so all ranks open them in the same order. `library` is loaded when it is first needed.
/// No call takes longer than until `deadline`: one that the library does not return from keeps a thread.
/// Unavailable: the library cannot be loaded (says what to install), or there is no server (says what to set).
/// Timeout: the server does not answer. InvalidArgument: PMIx numbers this process otherwise than `rank`.
Result<std::unique_ptr<Store>> open_pmix_store(Rank rank, int ranks, Clock::time_point deadline,
                                               const std::string& library = "libpmix.so.2");

}  // namespace casync::runtime
