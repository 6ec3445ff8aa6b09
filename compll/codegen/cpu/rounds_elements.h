// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/codegen/cpu/rounds_memory.h"
#include "compll/codegen/cpu/rounds_values.h"
#include "compll/codegen/text/writer.h"
#include "compll/ir/rounds/cpu/plan.h"

namespace casync::compll {

/// Single values, arrays whose elements are computed where they are used, reductions and calls, as C++.
class RoundsElements {
 public:
  /// Borrows all of these.
  RoundsElements(const cpu_turns::Turn& plan, const RoundsValues& values, const RoundsMemory& memory, Writer& out)
      : plan_(plan), values_(values), memory_(memory), out_(out) {}

  void write(const cpu_turns::Single& single);
  void write(const cpu_turns::Map& map);
  void write(const cpu_turns::Range& range);
  void write(const cpu_turns::Spread& spread);
  void write(const cpu_turns::Function& function);
  void write(const cpu_turns::Reduce& reduce);
  void write(const cpu_turns::ReduceBlocks& reduce);
  void write(const cpu_turns::Apply& call);
  void write(const cpu_turns::Zeros& zeros);
  void write(const cpu_turns::Scatter& scatter);

 private:
  static std::string text(const cpu_turns::SizeOf& count);
  static std::string text(const cpu_turns::LengthOf& length);
  std::string text(const Term* value) const;
  std::string text(const cpu_turns::MemoryOf& memory) const;
  static std::string text(const cpu_turns::Workspace&) { return "memory"; }
  std::string name(cpu_turns::Id id) const { return values_.name(id); }

  const cpu_turns::Turn& plan_;
  const RoundsValues& values_;
  const RoundsMemory& memory_;
  Writer& out_;
};

}  // namespace casync::compll
