// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/codegen/cuda/routine.h"

namespace casync::compll {

/// Writes the passes of encode or merge over a warp's units.
class CudaLoops : protected CudaRoutine {
 protected:
  CudaLoops(const CudaEncoder& plan, Writer& out) : CudaRoutine(*plan.program, plan.values, out), plan_(plan) {}

  /// Everything of one pass.
  void write_pass(const CudaPass& pass);

  /// Writes a function's begin: the tensor's values that it needs, and pointers to the sections that are stored.
  void write_preamble(const CudaPreamble& preamble);

  const CudaEncoder& plan_;

 private:
  /// The elements that a loop's body works on: four neighbours, or one element of a lane.
  enum class Loop { kQuads, kLanes };

  static std::string reducer(ValueId id) { return "reduced" + std::to_string(id); }
  static std::string kept(ValueId id) { return "kept" + std::to_string(id); }
  std::string holds(const Condition& condition) const;
  std::string result_of(ValueId id) const;

  void write_random(const CudaPass& pass);
  void write_phase(const CudaPhase& phase, bool first);
  void write_block_values(const CudaPhase& phase);
  void write_quads(const CudaQuads& loop);
  void write_quad_body(const CudaQuads& loop);
  void write_rotated_residual(const CudaResidual& residual);
  void write_own_ahead(const CudaAhead& ahead);
  void write_lanes(const CudaLanes& loop);
  void write_lane_sums(const CudaLanes& loop);
  void write_lane_loop(const CudaLanes& loop, const std::string& numbers);
  void write_element(ValueId id, Loop loop);
  void write_tensor_results(const CudaPass& pass);
};

}  // namespace casync::compll
