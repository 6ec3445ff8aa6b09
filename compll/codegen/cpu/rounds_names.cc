// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/rounds_names.h"

namespace casync::compll {

std::string RoundsNames::length(const Constant& constant) {
  if (constant.dimension) return *constant.dimension == Dimension::kRows ? "v.rows" : "v.columns";
  return constant.parameter ? "static_cast<size_t>(v.parameters[" + std::to_string(*constant.parameter) + "])"
                            : "size_t{" + std::to_string(constant.value) + "}";
}

std::string RoundsNames::size(const Type& type) {
  if (!type.extent) return "1";
  const Constant& count = type.extent->count;
  switch (type.extent->kind) {
    case Extent::Kind::kElements: break;
    case Extent::Kind::kBlocks: return "(v.n + " + length(count) + " - 1) / " + length(count);
    case Extent::Kind::kFixed: return length(count);
    case Extent::Kind::kSized: return "size" + std::to_string(count.value);
  }
  return "v.n";
}

std::string RoundsNames::place(const cpu_turns::Place& place) {
  using Kind = cpu_turns::Place::Kind;
  switch (place.kind) {
    case Kind::kGradient: return "t.gradient";
    case Kind::kStateIn: return "t.states_in + " + state(place.index);
    case Kind::kStateOut: return "t.states_out + " + state(place.index);
    case Kind::kExchanged: return "t.exchanged[" + std::to_string(place.index) + "]";
    case Kind::kScratch: return "t.scratch + " + scratch(place.index);
    case Kind::kResult: return "t.out";
    case Kind::kMade: return "made";
  }
  return "";
}

}  // namespace casync::compll
