// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cpu/array_memory.h"

#include "compll/ops/trits.h"

namespace casync::compll::cpu_vector {

void ArrayMemory::enter(const Input& each) {
  store(each.array, 4);
  if (plan_.program->declares.feedback) memory_[each.array]["residual"] = 4;
}

void ArrayMemory::enter(const Received& each) {
  if (is_of_all(each.value)) store(each.value, bits_per_element(plan_.values[each.value].type.element.bits) / 8);
}

void ArrayMemory::enter(const Map& each) {
  for (const std::optional<Id>& from : each.arguments) {
    if (from) made_of_[each.array].push_back(*from);
  }
}

/// Until its loop ends, the array has just been computed.
void ArrayMemory::enter(const Keep& each) {
  if (is_of_all(each.array)) made_of_[each.array] = {each.from};
}

ArrayMemory::Bytes ArrayMemory::reads(Id array) const {
  if (const auto found = memory_.find(array); found != memory_.end()) return found->second;
  Bytes all;
  const auto made_of = made_of_.find(array);
  if (made_of == made_of_.end()) return all;
  for (const Id from : made_of->second) all.merge(reads(from));
  return all;
}

double ArrayMemory::bytes(Id array) const {
  double all = 0;
  for (const auto& [memory, bytes] : reads(array)) all += bytes;
  return all;
}

}  // namespace casync::compll::cpu_vector
