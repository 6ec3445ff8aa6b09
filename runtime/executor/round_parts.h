// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "casync/graph/rounds.h"
#include "runtime/executor/gradient_run.h"

namespace casync::runtime {

/// A part of a bucket's rounds. It is queued as a whole, and at most one call of the transport ends it.
struct RoundPart {
  enum class Kind : std::uint8_t {
    kBegin,      ///< waits for the gradients' elements
    kTask,       ///< a task of a graph
    kExchange,   ///< the messages of a round
    kTurn,       ///< a turn of a codec that exchanges within a step
    kAllReduce,  ///< of a gradient's elements, or of those that its codec made in a turn
    kScale,      ///< makes the result of that all-reduce
    kAgree,      ///< all ranks learn which gradients are finite
    kEnd,
  };

  Kind kind = Kind::kBegin;
  std::uint32_t number = 0;  ///< of the round; of a turn, or of what is exchanged after it
  RoundTask task;            ///< its gradient by its place in the bucket

  /// True: it ends with a call of the transport.
  bool calls_transport() const { return kind == Kind::kExchange || kind == Kind::kAllReduce || kind == Kind::kAgree; }
  bool operator==(const RoundPart&) const = default;
};

/// Returns the parts of a bucket in their order. `runs`: its gradients.
std::vector<RoundPart> parts_of(const Bucket& bucket, std::span<GradientRun* const> runs);

/// Tells by gradient if all-reduces take the place of its graph's tasks.
std::vector<bool> all_reduced_of(const Bucket& bucket);

}  // namespace casync::runtime
