// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "runtime/control/group/facts.h"
#include "runtime/control/group/pulse.h"

namespace casync::runtime {

/// A codec as ranks and saved states compare it: "int4:block=64"; of a file what it says and not where it lies, "mine
/// (program 0123456789abcdef):block=64". A file that cannot be loaded is its path and why.
std::string identity_of(const CodecChoice& choice);

/// A decision, "int4:block=64 / bf16, ps, 4 partitions, priority 3".
std::string text_of(const Decision& decision);

/// The lines of a plan as facts.
Facts facts_of(const Plan& plan);

/// A pulse by its variables, CASYNC_HEARTBEAT_SEC and CASYNC_DEAD_SEC. A rank that beats more slowly than the others
/// wait would be dead for them.
Facts facts_of(const Pulse& pulse);

/// A declared gradient's specification and decision as text.
std::string text_of(const GradientSpec& gradient, const Decision& decision);

}  // namespace casync::runtime
