// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runtime/control/group/group.h"

namespace casync::runtime {

/// The same group; in a forked child, which has neither its thread nor its sockets, every call returns Unavailable
/// and the destructor touches nothing.
std::unique_ptr<Group> guard_against_forks(std::unique_ptr<Group> group);

}  // namespace casync::runtime
