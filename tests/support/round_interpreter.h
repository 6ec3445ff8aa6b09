// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "casync/graph/rounds.h"
#include "tests/support/interpreter.h"

namespace casync::test {

/// The graphs of one gradient, by rank, and what its tasks do.
struct RoundRun {
  std::vector<TaskGraph> graphs;
  Meaning* meaning = nullptr;
};

/// Runs the schedules of ranks 0, 1, ... in this thread: each round on all ranks, then the next on any. An exchange
/// knows no names: the k-th send of one rank to another is the k-th recv there. Internal: ranks have other buckets, a
/// task runs ahead of one that it waits for, or not at all, or the two ends of a message are not the same.
Status interpret_rounds(std::span<const RoundRun> gradients, std::span<const std::vector<Bucket>> schedules);

}  // namespace casync::test
