// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "casync/strategies/strategy.h"
#include "runtime/executor/gradient_run.h"

namespace casync::runtime {

/// Memory that is copied, and not reduced.
struct Copied {
  std::optional<Rank> root;  ///< unset: each rank's shard goes to all
};

/// A gradient that has been declared, with what was decided for it.
struct Declared {
  GradientSpec spec;
  Decision decision;
  std::uint64_t key = 0;
  std::string text = {};                                    ///< specification and decision, as all ranks compare them
  Neighbours neighbours = Neighbours::kAll;                 ///< the plan's
  double gamma = 0;                                         ///< the plan's
  std::optional<Asynchronous> asynchronous = std::nullopt;  ///< the plan's
  std::optional<Copied> copied = std::nullopt;
};

/// InvalidArgument: no name or a long one, or a shape that is none.
Status check_shape(const GradientSpec& gradient);

/// Decides for `gradient`. In half precision `none` means a cast to that type: the payload is then the elements
/// as they are. InvalidArgument: a shape that is none, an unknown codec or parameter. PlanError: a decision that
/// cannot be carried out.
Result<Declared> declare_gradient(const Plan& plan, const GradientSpec& gradient, const Topology& topology);

/// The memory that a gradient takes: check_memory() for each submission of thousands of small ones.
struct MemoryShape {
  Bytes bytes = 0, alignment = 1;
  bool fits(View memory) const {
    return memory.size == bytes && (bytes == 0 || memory.data != nullptr) &&
           reinterpret_cast<std::uintptr_t>(memory.data) % alignment == 0;
  }
};

/// Checks that `memory` can hold this gradient. InvalidArgument: its size or its alignment.
Status check_memory(const GradientSpec& gradient, View memory);
Status submitted_twice(const GradientSpec& gradient, std::uint32_t step);
/// InvalidArgument: the refusal of submissions in a step that exchanges nothing by the mode.
Status exchanges_nothing(const SyncMode& mode, std::uint32_t step);

/// The run of a declared gradient on rank `self`. `first_owner` as make_graph, the same on all ranks.
Result<std::unique_ptr<GradientRun>> make_run(const Declared& declared, const Topology& topology, Rank self,
                                              std::size_t first_owner);

/// The same of one that goes through the graph of its decision, with these codecs. `named`: the decision that reports
/// and states name.
Result<std::unique_ptr<GradientRun>> make_graph_run(const Declared& declared, HopCodecs codecs, const Decision& named,
                                                    const Topology& topology, Rank self, std::size_t first_owner);

/// The label of a residual's owner: "int4:block=128 / int4:block=128, ps, 2 partitions", and with a hierarchical
/// strategy the nodes, with servers their number, which say which rank encodes what. State with another label is
/// refused.
std::string state_label(const Decision& decision, const Topology& topology);

}  // namespace casync::runtime
