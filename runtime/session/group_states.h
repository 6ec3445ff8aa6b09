// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "base/units.h"
#include "casync/model/gradient.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// The place of a group's member in the group's memory.
struct PlaceInGroup {
  Elements first = 0, count = 0;
};
PlaceInGroup place_in_group(const GradientSpec& group, std::size_t member);

/// Replaces what `state` has of the group by as much of each member, under the members' names. A member's codec names
/// its place in the group, which has to be the same where the state is loaded. A state that is no whole number of
/// floats for each element of the group, as an owner's of asynchronous ranks, has its end in the first member's part.
void split_states(const GradientSpec& group, SessionState& state);

/// The reverse. InvalidArgument, naming the member: it was in no group, in another one or elsewhere in it, or some
/// members are there and others are not; `state` is as it was then.
Status join_states(const GradientSpec& group, SessionState& state);

}  // namespace casync::runtime
