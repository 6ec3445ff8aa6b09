// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runtime/transport/link.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// The transport `inner` as it would be over one `link` per rank: each rank's messages leave one after the other and
/// arrive one after the other, a message of s bytes (with its header) occupies the link s / rate, and arrives
/// `latency` after its last byte left. So a message that meets no other takes s / rate + latency, and what
/// several peers send to one rank queues up there.
///
/// Messages are real and go through `inner` at full speed; only the reports sent() and received() wait, and those of a
/// failure do not.
std::unique_ptr<Transport> make_paced(std::unique_ptr<Transport> inner, const Link& link, int ranks);

}  // namespace casync::runtime
