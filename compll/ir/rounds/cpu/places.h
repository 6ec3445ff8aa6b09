// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/rounds/cpu/plan.h"

namespace casync::compll::cpu_turns {

/// Counts the uses of each variable, by the turn's steps and by what it hands on.
void count_uses(Turn& plan);

/// Finds the places where later turns, exchanges and states want values: arrays that are made in memory are made there.
void choose_places(Turn& plan);

}  // namespace casync::compll::cpu_turns
