// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compll/codegen/cpu/rounds_values.h"
#include "compll/codegen/text/writer.h"
#include "compll/ir/rounds/cpu/plan.h"

namespace casync::compll {

/// The items of a turn as C++, in their order. An array's name is called with an index: it is memory, or a function
/// that computes the element.
class RoundsItems {
 public:
  RoundsItems(const cpu_turns::Turn& plan, Writer& out) : plan_(plan), out_(out), values_(plan, out) {}

  void write();

 private:
  void write(const cpu_turns::Statement& statement) { out_.source_line(statement.at); }
  void write(const cpu_turns::Take& take);
  void write(const cpu_turns::Given& given);
  void write(const cpu_turns::Single& single);
  void write(const cpu_turns::Map& map);
  void write(const cpu_turns::Range& range);
  void write(const cpu_turns::Spread& spread);
  void write(const cpu_turns::Outer& outer);
  void write(const cpu_turns::Memory& memory);
  void write(const cpu_turns::Buffer& buffer);
  void write(const cpu_turns::Stored& stored);
  void write(const cpu_turns::Fill& fill);
  void write(const cpu_turns::Copy& copy);
  void write(const cpu_turns::Function& function);
  void write(const cpu_turns::Reduce& reduce);
  void write(const cpu_turns::ReduceBlocks& reduce);
  void write(const cpu_turns::Orthonormalize& orthonormalize);
  void write(const cpu_turns::Tiles& tiles);
  void write(const cpu_turns::Piece& piece);
  void write(const cpu_turns::Product& product);
  void write(const cpu_turns::MakeResult&);
  void write(const cpu_turns::GiveResult&);

  void prepare(const std::vector<cpu_turns::Id>& outers);
  std::string name(cpu_turns::Id id) const { return values_.name(id); }
  /// The C++ type of a value's elements.
  std::string element(cpu_turns::Id id) const;
  /// A place as a pointer to elements of this value's type.
  std::string typed(const cpu_turns::Place& place, cpu_turns::Id id, const std::string& qualifier) const;
  std::string address(const cpu_turns::Address& address) const;

  const cpu_turns::Turn& plan_;
  Writer& out_;
  RoundsValues values_;
  std::map<cpu_turns::Id, std::string> pointers_;  ///< to the memory of values
};

}  // namespace casync::compll
