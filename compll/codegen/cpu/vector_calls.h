// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/codegen/cpu/vector_values.h"
#include "compll/codegen/text/writer.h"
#include "compll/ir/vector/cpu/plan.h"

namespace casync::compll {

/// Spells calls of operators, and the functions that they take.
class VectorCalls {
 public:
  VectorCalls(VectorValues& values, Writer& out) : values_(values), out_(out) {}

  void write(const cpu_vector::Function& function);
  void write(const cpu_vector::Key& key);
  void write(const cpu_vector::Apply& call);
  void write(const cpu_vector::Search& search);
  void write(const cpu_vector::Found& found);
  void write(const cpu_vector::Rotate& rotate);
  void write(const cpu_vector::ScatterMemory& memory);
  void write(const cpu_vector::Scatter& scatter);
  void write(const cpu_vector::OpenReducer& reducer);
  void write(const cpu_vector::Reduced& reduced);
  void write(const cpu_vector::Reduce& reduce);

 private:
  std::string name(cpu_vector::Id id) const { return values_.name(id); }
  std::string wanted(const Term& selection);
  std::string text(cpu_vector::Id value) const { return name(value); }
  std::string text(const cpu_vector::SizeOf& count) const;
  std::string text(const Term* value) { return values_.expression(*value); }
  std::string text(const cpu_vector::LessOf& less) const;
  std::string text(const cpu_vector::Workspace&) const { return "memory"; }
  void define(cpu_vector::Id id, const std::string& value);

  VectorValues& values_;
  Writer& out_;
};

/// Returns true if the order in which elements are reduced can be seen: chunks are reduced, then their results.
bool reduces_in_chunks(const Term& term);

}  // namespace casync::compll
