// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/codegen/cpu/whole_values.h"
#include "compll/codegen/text/writer.h"
#include "compll/ir/vector/cpu/plan.h"

namespace casync::compll {

/// Spells where arrays come from: functions that compute elements where they are used, and memory.
class WholeDefinitions {
 public:
  WholeDefinitions(WholeValues& values, Writer& out) : values_(values), out_(out) {}

  void write(const cpu_whole::Input& input);
  void write(const cpu_whole::Given& given);
  void write(const cpu_whole::Received& received);
  void write(const cpu_whole::Map& map);
  void write(const cpu_whole::Part& part);
  void write(const cpu_whole::Range& range);
  void write(const cpu_whole::Spread& spread);
  void write(const cpu_whole::Gather& gather);
  void write(const cpu_whole::Keep& keep);
  void write(const cpu_whole::Copy& copy);
  void write(const cpu_whole::BlockMemory& memory);
  void write(const cpu_whole::RotatedMemory& memory);
  void write(const cpu_whole::StateMemory& memory);

 private:
  std::string name(cpu_whole::Id id) const { return values_.name(id); }

  WholeValues& values_;
  Writer& out_;
};

/// The memory that a state is written to.
std::string state_memory(std::size_t state);
/// The memory of a copy.
std::string memory_of(const WholeValues& values, const cpu_whole::Copy& copy);

}  // namespace casync::compll
