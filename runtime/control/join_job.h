// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "runtime/control/group/group.h"
#include "runtime/control/group/pulse.h"
#include "runtime/control/launch/launch.h"
#include "runtime/control/rendezvous/store.h"

namespace casync::runtime {

/// As CASYNC_HEARTBEAT_SEC and CASYNC_DEAD_SEC say. InvalidArgument: they are no numbers.
Result<Pulse> read_pulse();

/// Joins the ranks of the job that `launch` names, through `functions` where both are set, else by the launch's
/// rendezvous. Beats as read_pulse() says. `stall`: as GroupOptions. Errors as Group::join; Unavailable: the rendezvous
/// is the program's own store, and `functions` are not set.
Result<std::unique_ptr<Group>> join_job(const Launch& launch, const StoreFunctions& functions, Seconds timeout,
                                        Seconds stall = Seconds(0));

/// The network interface, or list of them, that CASYNC_INTERFACE names; else the machine's own for a job that is on
/// one, else "".
std::string interface_for(const Launch& launch, int local_ranks);

/// The name that all ranks of a node share. A rank on a machine without a name is a node of its own.
std::string node_name(const Launch& launch);

/// Names the processors that this thread may run on, and their machine: ranks with the same text compete for them.
std::string processors_name(const Launch& launch);

}  // namespace casync::runtime
