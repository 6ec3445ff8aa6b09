// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/codegen/cpu/vector_values.h"
#include "compll/codegen/text/writer.h"
#include "compll/ir/vector/cpu/plan.h"

namespace casync::compll {

/// Spells where arrays come from: functions that compute elements where they are used, and memory.
class VectorDefinitions {
 public:
  VectorDefinitions(VectorValues& values, Writer& out) : values_(values), out_(out) {}

  void write(const cpu_vector::Input& input);
  void write(const cpu_vector::Given& given);
  void write(const cpu_vector::Received& received);
  void write(const cpu_vector::Map& map);
  void write(const cpu_vector::Part& part);
  void write(const cpu_vector::Range& range);
  void write(const cpu_vector::Spread& spread);
  void write(const cpu_vector::Gather& gather);
  void write(const cpu_vector::Keep& keep);
  void write(const cpu_vector::Copy& copy);
  void write(const cpu_vector::BlockMemory& memory);
  void write(const cpu_vector::RotatedMemory& memory);
  void write(const cpu_vector::StateMemory& memory);

 private:
  std::string name(cpu_vector::Id id) const { return values_.name(id); }

  VectorValues& values_;
  Writer& out_;
};

/// The memory that a state is written to.
std::string state_memory(std::size_t state);
/// The memory of a copy.
std::string memory_of(const VectorValues& values, const cpu_vector::Copy& copy);

}  // namespace casync::compll
