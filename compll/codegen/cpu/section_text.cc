// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/section_text.h"

#include <algorithm>

#include "compll/ir/tiles/cpu/packing.h"

namespace casync::compll {

std::string SectionText::word(std::uint32_t index, const std::string& what) const {
  const std::string& of = program_.sections[index].name;
  const auto same = [&](const Section& other) { return other.name == of; };
  const bool once = std::count_if(program_.sections.begin(), program_.sections.end(), same) == 1;
  return of + what + (once ? "" : std::to_string(index));
}

std::string SectionText::load_one(const Value& value, const std::string& index) const {
  const std::string at = "(" + name(value.section) + ", " + index + ")";
  if (value.type.is_float()) return (value.type == kDoubleType ? "load_one_double" : "load_one_float") + at;
  if (value.type == kTritType) return "load_one_trit" + at;
  const std::string kind = value.type.kind == ScalarType::Kind::kInt ? "int" : "uint";
  return "load_one_" + kind + "<" + std::to_string(value.type.bits) + ">" + at;
}

std::string SectionText::load_group(const Value& value) const {
  const std::string at = "(" + name(value.section) + ", i, rest)";
  if (value.type == kTritType) return "load_trits(" + name(value.section) + ", tile.first % 5 + i, rest)";
  if (value.type == kFloatType) return "load_float" + at;
  if (value.type == kBoolType) return "to_bool(load_uint<1>" + at + ")";
  const std::string kind = value.type.kind == ScalarType::Kind::kInt ? "int" : "uint";
  return "load_" + kind + "<" + std::to_string(value.type.bits) + ">" + at;
}

std::string SectionText::fetch(ScalarType type, const std::string& section) {
  const std::string function = type == kTritType ? "fetch_trits" : "fetch_section<" + std::to_string(type.bits) + ">";
  return function + "(" + section + ", i);";
}

std::string SectionText::store_one(ScalarType type, const std::string& value, const std::string& at) {
  const std::string function = type == kTritType ? "store_one_trit" : "store_one<" + std::to_string(type.bits) + ">";
  return function + "(" + value + ", " + at + ");";
}

std::string SectionText::store_group(ScalarType type, const std::string& value, std::uint32_t index) const {
  if (is_packed(type)) return packed(index) + ".store(" + value + ", i, rest);";
  if (type == kTritType) return "store_trits(" + value + ", " + name(index) + ", tile.first % 5 + i, rest);";
  return "store_section<" + std::to_string(type.bits) + ">(" + value + ", " + name(index) + ", i, rest);";
}

}  // namespace casync::compll
