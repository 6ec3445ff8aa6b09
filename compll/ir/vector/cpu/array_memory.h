// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compll/ir/vector/cpu/plan.h"

namespace casync::compll::cpu_vector {

/// The memory that an element of each array is read from, itself or through the arrays that it is computed from where
/// it is used. It is told of each item in order.
class ArrayMemory {
 public:
  /// Bytes that an element reads, by the memory that they come from.
  using Bytes = std::map<std::string, double>;

  explicit ArrayMemory(const Routine& plan) : plan_(plan) {}

  void define(const Definition& definition) {
    std::visit([&](const auto& each) { enter(each); }, definition);
  }
  /// From here on the array is in memory of its own, `bytes` for an element.
  void store(Id array, double bytes) { memory_[array] = {{name_of(plan_.values[array]), bytes}}; }

  Bytes reads(Id array) const;
  double bytes(Id array) const;
  bool is_of_all(Id array) const { return plan_.values[array].type.is_over(Extent::Kind::kElements); }

 private:
  void enter(const Input& each);
  void enter(const Given& each) { store(each.array, 4); }
  void enter(const Received& each);
  void enter(const Map& each);
  void enter(const Part& each) { made_of_[each.array] = {each.all}; }
  void enter(const Keep& each);
  template <class Other>
  void enter(const Other&) {}

  const Routine& plan_;
  std::map<Id, Bytes> memory_;
  std::map<Id, std::vector<Id>> made_of_;  ///< of arrays that are computed where they are used
};

}  // namespace casync::compll::cpu_vector
