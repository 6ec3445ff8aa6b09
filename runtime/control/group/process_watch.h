// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/control/wire/fd.h"
#include "runtime/control/wire/identity.h"

namespace casync::runtime {

/// Readable as soon as the process has ended, killed and unreaped ones too. Not open where that cannot be told:
/// another machine, another PID namespace, another user, a pid that meanwhile belongs to another process.
Fd watch_process(const Identity& process, const Identity& self);

}  // namespace casync::runtime
