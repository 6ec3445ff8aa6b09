// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/codegen/cpu/reduction_text.h"

namespace casync::compll {

/// Writes the loops over elements of encode or merge.
class EncoderLoops : protected ReductionText {
 protected:
  using ReductionText::ReductionText;

  /// A loop over elements: begin and end, the text that loads sixteen of the input, a line that fetches ahead, and the
  /// distance at which states are fetched.
  struct Range {
    std::string begin, end, input, fetch, states_ahead;
  };
  void write_loop(const CpuPass& pass, const CpuLoop& loop, const Range& range);

  ScalarType element(std::uint32_t section) const { return program_.sections[section].type.element; }

 private:
  void write_fetches(const CpuLoop& loop, const Range& range);
  void write_residual(const CpuPass& pass, const CpuLoop& loop);
  void write_states(const CpuPass& pass, const CpuKept& states);
  /// Stores a transform's operand.
  void write_taken(const CpuPass& pass, ValueId id);
  void define_elements(const CpuPass& pass, const std::vector<ValueId>& ids);
};

}  // namespace casync::compll
