// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "compll/codegen/cpu/rounds_values.h"
#include "compll/codegen/text/writer.h"
#include "compll/ir/rounds/cpu/plan.h"

namespace casync::compll {

/// The memory of a turn as C++: what lies at places, memory of the turn's own, and copies.
class RoundsMemory {
 public:
  /// Borrows all of these.
  RoundsMemory(const cpu_turns::Turn& plan, const RoundsValues& values, Writer& out)
      : plan_(plan), values_(values), out_(out) {}

  void write(const cpu_turns::Take& take);
  void write(const cpu_turns::Given& given);
  void write(const cpu_turns::Memory& memory);
  void write(const cpu_turns::Buffer& buffer);
  void write(const cpu_turns::Stored& stored);
  void write(const cpu_turns::Copy& copy);
  void write(const cpu_turns::Tiles& tiles);
  void write(const cpu_turns::MakeResult&);
  void write(const cpu_turns::GiveResult&);

  /// The pointer to the memory of a value that has been written.
  const std::string& pointer(cpu_turns::Id id) const { return pointers_.at(id); }
  std::string address(const cpu_turns::Address& address) const;
  /// A place as a pointer to elements of this value's type.
  std::string typed(const cpu_turns::Place& place, cpu_turns::Id id, const std::string& qualifier) const;

 private:
  std::string name(cpu_turns::Id id) const { return values_.name(id); }
  /// The C++ type of a value's elements.
  std::string element(cpu_turns::Id id) const;

  const cpu_turns::Turn& plan_;
  const RoundsValues& values_;
  Writer& out_;
  std::map<cpu_turns::Id, std::string> pointers_;
};

}  // namespace casync::compll
