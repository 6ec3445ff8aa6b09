// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/codegen/cpu/whole_values.h"
#include "compll/codegen/text/writer.h"
#include "compll/ir/vector/cpu/plan.h"

namespace casync::compll {

/// Spells calls of operators, and the functions that they take.
class WholeCalls {
 public:
  WholeCalls(WholeValues& values, Writer& out) : values_(values), out_(out) {}

  void write(const cpu_whole::Function& function);
  void write(const cpu_whole::Key& key);
  void write(const cpu_whole::Apply& call);
  void write(const cpu_whole::Search& search);
  void write(const cpu_whole::Found& found);
  void write(const cpu_whole::Rotate& rotate);
  void write(const cpu_whole::ScatterMemory& memory);
  void write(const cpu_whole::Scatter& scatter);
  void write(const cpu_whole::OpenReducer& reducer);
  void write(const cpu_whole::Reduced& reduced);
  void write(const cpu_whole::Reduce& reduce);

 private:
  std::string name(cpu_whole::Id id) const { return values_.name(id); }
  std::string wanted(const Term& selection);
  std::string text(cpu_whole::Id value) const { return name(value); }
  std::string text(const cpu_whole::SizeOf& count) const;
  std::string text(const Term* value) { return values_.expression(*value); }
  std::string text(const cpu_whole::LessOf& less) const;
  std::string text(const cpu_whole::Workspace&) const { return "memory"; }
  void define(cpu_whole::Id id, const std::string& value);

  WholeValues& values_;
  Writer& out_;
};

/// Returns true if the order in which elements are reduced can be seen: chunks are reduced, then their results.
bool reduces_in_chunks(const Term& term);

}  // namespace casync::compll
