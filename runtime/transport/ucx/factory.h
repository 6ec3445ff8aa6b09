// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// Opens a transport whose name begins with "ucx": docs/transports.md says what each uses.
/// Unimplemented: built without UCX. Unavailable: the module or UCX itself is missing, no such interface, or UCX
/// cannot use any network here (what it said, what to install).
Result<std::unique_ptr<Transport>> make_ucx(const std::string& name, const TransportOptions& options);

}  // namespace casync::runtime
