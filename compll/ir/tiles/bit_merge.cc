// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/bit_merge.h"

#include <algorithm>
#include <vector>

namespace casync::compll {
namespace {

/// The inputs that a value depends on; each kind includes the ones above it.
enum class Reach {
  kOwn,   ///< the element, and values that are known without one
  kKind,  ///< which elements occur, regardless of order and count
  kAll,
};

bool is_random(const Value& value) { return value.op == Op::kRandomBits || value.op == Op::kRandomUniform; }

bool is_of_kinds(const Value& reduction) {
  const Reducer by = reduction.reducer;
  return reduction.over == Domain::kElement &&
         (by == Reducer::kMagnitude || by == Reducer::kMin || by == Reducer::kMax);
}

std::vector<Reach> reaches_of(const Graph& graph) {
  std::vector<Reach> all;
  for (const Value& value : graph.values()) {
    Reach reach = Reach::kOwn;
    for (const ValueId id : value.arguments) reach = std::max(reach, all[id]);
    switch (value.kind) {
      case Value::Kind::kInput:
      case Value::Kind::kSection:
      case Value::Kind::kConstant:
      case Value::Kind::kParameter: break;
      case Value::Kind::kCompute:
        if (is_random(value)) reach = Reach::kAll;
        break;
      case Value::Kind::kReduce: reach = is_of_kinds(value) ? std::max(reach, Reach::kKind) : Reach::kAll; break;
      default: reach = Reach::kAll;
    }
    all.push_back(reach);
  }
  return all;
}

}  // namespace

bool merges_bits(const Program& program, const Lowered& lowered) {
  if (lowered.block) return false;
  const EncodeGraph& encode = lowered.merge ? *lowered.merge : lowered.encode;
  const std::vector<Reach> encoded = reaches_of(encode.graph), decoded = reaches_of(lowered.decode.graph);
  if (decoded[lowered.decode.result] != Reach::kOwn) return false;
  std::size_t bits = 0;
  for (std::size_t i = 0; i < program.sections.size(); ++i) {
    const Type& type = program.sections[i].type;
    if (type.is_array() && type.element.bits != 1) return false;
    if (encoded[encode.sections[i]] > (type.is_array() ? Reach::kOwn : Reach::kKind)) return false;
    bits += type.is_array() ? 1 : 0;
  }
  return bits == 1;
}

}  // namespace casync::compll
