// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "compll/codegen/cpu/rounds_memory.h"
#include "compll/codegen/cpu/rounds_values.h"
#include "compll/codegen/text/writer.h"
#include "compll/ir/rounds/cpu/plan.h"

namespace casync::compll {

/// Products of matrices and vectors as C++, and arrays that are stored, piece by piece where products are in them.
class RoundsMatrices {
 public:
  /// Borrows all of these.
  RoundsMatrices(const RoundsValues& values, const RoundsMemory& memory, Writer& out)
      : values_(values), memory_(memory), out_(out) {}

  void write(const cpu_turns::Outer& outer);
  void write(const cpu_turns::Fill& fill);
  void write(const cpu_turns::Piece& piece);
  void write(const cpu_turns::Product& product);

 private:
  void prepare(const std::vector<cpu_turns::Id>& outers);
  std::string name(cpu_turns::Id id) const { return values_.name(id); }

  const RoundsValues& values_;
  const RoundsMemory& memory_;
  Writer& out_;
};

}  // namespace casync::compll
