// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>

#include "compll/codegen/cuda/reducer.h"
#include "compll/codegen/cuda/routine.h"
#include "compll/ir/tiles/needs.h"
#include "compll/ir/tiles/schedule.h"
#include "compll/ops/cuda/launch.h"

namespace casync::compll {

/// One pass of encode over a warp's units: the loops that its reductions divide. A loop goes over four neighbours for
/// each thread; where a reduction has an order a second one follows, over the 16 lanes of reductions.
class CudaLoops : protected CudaRoutine {
 protected:
  CudaLoops(const Program& program, const EncodeGraph& encode, Writer& out, Diagnostics& diagnostics);

  /// Everything of one pass.
  void write_pass(const Pass& pass);

  /// Writes a function's begin: the tensor's values that these need, and pointers to the sections that are stored.
  void write_preamble(const std::vector<ValueId>& needed, const std::vector<Output>& stores);

  const EncodeGraph& encode_;
  std::vector<std::optional<Condition>> conditions_;  ///< the conditions without which reductions are not needed
  cuda::Shape shape_;
  std::map<ValueId, std::uint32_t> slots_;  ///< the reductions to one value for the tensor

 private:
  /// The elements that a loop's body works on: four neighbours, or one element of a lane.
  enum class Loop { kQuads, kLanes };

  std::vector<ValueId> targets_of(const Pass& pass) const;
  std::vector<Output> stores_of(const Pass& pass) const;
  ValueFlags tensor_values(const std::vector<ValueId>& needed) const;
  void write_random(const Pass& pass);
  bool is_of_tensor(ValueId id) const { return graph_[id].kind == Value::Kind::kReduce; }
  std::string reducer(ValueId id) const { return "reduced" + std::to_string(id); }
  std::string holds(const Condition& condition) const;
  std::string result_of(ValueId id) const;

  void write_phase(const Phase& phase, bool first);
  void write_block_values(const Phase& phase);
  void write_quads(const Phase& phase, const std::vector<ValueId>& reductions);
  Turned write_quad_body(const Phase& phase, const std::vector<ValueId>& reductions,
                         const std::optional<Output>& residual);
  void write_state_loads(const Phase& phase);
  void write_turned_residual(const Phase& phase, ValueId residual, Turned turned);
  std::vector<ValueId> targets_of(const Phase& phase, const std::vector<ValueId>& reductions) const;
  std::set<ValueId> find_of_places() const;
  std::set<ValueId> ahead_of_several(const Pass& pass) const;
  Turned write_own_ahead(const std::vector<ValueId>& targets);
  void write_lanes(const Phase& phase, const std::vector<ValueId>& reductions);
  void write_lane_sums(const Phase& phase, const std::vector<ValueId>& reductions, const ValueFlags& here);
  void write_lane_loop(const Phase& phase, const std::vector<ValueId>& reductions, const ValueFlags& here,
                       const std::string& numbers);
  void write_element(ValueId id, Loop loop);
  void write_draws(const Phase& phase, const ValueFlags& here);
  void write_tensor_results(const Pass& pass);

  std::set<ValueId> several_;  ///< values written ahead of several loops of the pass
  std::set<ValueId> kept_;     ///< the values among these that an earlier loop has made
};

}  // namespace casync::compll
