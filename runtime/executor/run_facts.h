// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "base/units.h"
#include "casync/graph/task_graph.h"
#include "casync/model/gradient.h"
#include "casync/model/plan.h"

namespace casync::runtime {

/// The names of a run in messages: a hash of its gradient's name, the same on all ranks, and this rank.
struct RunName {
  std::uint64_t key = 0;
  Rank self = 0;
};

/// All of a run that is fixed: the gradient, the decision about it, and this rank's part of that.
struct RunFacts {
  RunFacts(GradientSpec gradient, Decision made, TaskGraph plan_graph, RunName name)
      : spec(std::move(gradient)),
        decision(std::move(made)),
        graph(std::move(plan_graph)),
        key(name.key),
        elements(spec.elements()),
        self(name.self),
        width(static_cast<std::uint8_t>(bytes_of(spec.dtype))) {}

  bool is_float32() const { return width == sizeof(float); }

  const GradientSpec spec;
  const Decision decision;
  const TaskGraph graph;
  // Last, so that they lie beside what a run keeps (GradientRun).
  alignas(64) const std::uint64_t key;
  const Elements elements;
  const Rank self;
  const std::uint8_t width;  ///< bytes of an element
};

}  // namespace casync::runtime
