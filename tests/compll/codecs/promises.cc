// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/codecs/promises.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace casync::compll {
namespace {

Elements value_of(const Constant& constant, const Written& written) {
  return constant.parameter ? static_cast<Elements>(written.codec->info().values[*constant.parameter]) : constant.value;
}

Elements count_of(const Type& type, const Written& written, Elements n) {
  if (!type.extent) return 1;
  if (type.extent->kind == Extent::Kind::kElements) return n;
  const Elements count = value_of(type.extent->count, written);
  return type.extent->kind == Extent::Kind::kBlocks ? (n + count - 1) / count : count;
}

}  // namespace

Promises promises_of(const std::string& name) {
  static const std::map<std::string, Promises> kTable = [] {
    std::map<std::string, Promises> table;
    table["bf16"].most = 3.38e38;
    table["fp16"].least = 0x1p-14;
    table["fp16"].most = 65504;
    table["minmax"].odd = false;  // its levels count from the least element up
    table["natural"].least = 0x1p-109;
    table["natural"].most = 65536;
    table["signsgd"].scales = table["signsgd"].keeps_zeros = false;
    table["tbq"].scales = false;
    return table;
  }();
  const auto found = kTable.find(name);
  return found == kTable.end() ? Promises() : found->second;
}

bool holds_for(const Promises& promises, std::span<const float> x) {
  double top = 0;
  for (const float value : x) top = std::max(top, std::fabs(static_cast<double>(value)));
  return top == 0 || (top >= promises.least && top <= promises.most);
}

bool is_deterministic(const Written& written) {
  const std::string text = text_of(*written.program);
  return text.find("random_bits") == text.npos && text.find("random_uniform") == text.npos;
}

Elements sharing(const Written& written, Elements n) {
  Elements shared = 1;
  for (const Section& section : written.program->sections) {
    if (!section.type.extent) return n;
    if (section.type.extent->kind != Extent::Kind::kBlocks) continue;
    shared = std::max(shared, value_of(section.type.extent->count, written));
  }
  return shared;
}

Bytes size_of_sections(const Written& written, Elements n) {
  constexpr Bytes kHeader = 16, kAlignment = 16;
  Bytes end = kHeader;
  for (const Section& section : written.program->sections) {
    if (n == 0) break;
    end = (end + kAlignment - 1) / kAlignment * kAlignment;
    end += (count_of(section.type, written, n) * section.type.element.bits + 7) / 8;
  }
  return end;
}

double norm_squared(std::span<const float> x) {
  double sum = 0;
  for (const float value : x) sum += static_cast<double>(value) * value;
  return sum;
}

std::vector<float> scaled(std::span<const float> x, float factor) {
  std::vector<float> y(x.begin(), x.end());
  for (float& value : y) value *= factor;
  return y;
}

}  // namespace casync::compll
