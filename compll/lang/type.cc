// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/type.h"

namespace casync::compll {

std::int64_t least_of(ScalarType type) {
  if (type == kTritType) return -1;
  return type.kind == ScalarType::Kind::kInt ? -(std::int64_t{1} << (type.bits - 1)) : 0;
}

std::int64_t most_of(ScalarType type) {
  if (type == kTritType) return 1;
  const int magnitude_bits = type.kind == ScalarType::Kind::kInt ? type.bits - 1 : type.bits;
  return (std::int64_t{1} << magnitude_bits) - 1;
}

std::string text_of(ScalarType type) {
  if (type == kTritType) return "trit";
  switch (type.kind) {
    case ScalarType::Kind::kVoid: return "void";
    case ScalarType::Kind::kBool: return "bool";
    case ScalarType::Kind::kFloat: return type.bits == 64 ? "double" : "float";
    case ScalarType::Kind::kInt: return type.bits == 32 ? "int" : "int" + std::to_string(type.bits);
    case ScalarType::Kind::kUint: return type.bits == 32 ? "uint" : "uint" + std::to_string(type.bits);
  }
  return "?";
}

std::string text_of(const Type& type) { return text_of(type.element) + (type.is_array() ? "*" : ""); }

std::string text_of(const Extent& extent) {
  const Constant& count = extent.count;
  std::string number = count.parameter ? "#" + std::to_string(*count.parameter) : std::to_string(count.value);
  switch (extent.kind) {
    case Extent::Kind::kElements: return "n";
    case Extent::Kind::kBlocks: return "ceil(n / " + number + ")";
    case Extent::Kind::kFixed: return number;
    case Extent::Kind::kSized: return "size " + number;
  }
  return "?";
}

}  // namespace casync::compll
