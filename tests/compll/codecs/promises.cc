// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/codecs/promises.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "compll/interpreter/interpreter.h"

namespace casync::compll {
namespace {

Interpreter meaning(const Written& written) {
  std::span<const double> values = written.codec->info().values;
  return Interpreter(*written.program, values.first(written.program->parameters.size()));
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
    table["tbq"].scales = table["twobit"].scales = table["threshold"].scales = false;
    table["threshold_coded"].scales = false;
    table["adacomp"].repeats = false;    // a mean of what is compared is sent for what is compared
    table["adacomp"].anywhere = false;   // a bin's largest is what its neighbours have to reach
    table["graddrop"].anywhere = false;  // its sample is of places
    table["rht4"].anywhere = false;      // the signs it turns by are those of places
    table["rht4"].repeats = false;       // a rotation rounds
    table["rht4"].most = 0x1p119;        // and sums
    table["randomk"].on_average = true;
    table["sketch"].on_average = true;
    table["sketch"].anywhere = false;  // signs are those of places
    table["sketch"].most = 0x1p119;    // it sums
    table["sketch_median"] = table["sketch"];
    table["nf4"].odd = false;         // seven levels below zero, eight above it
    table["lloyd2"].repeats = false;  // its edge moves with the deviation of what is decoded
    table["nvfp4"].least = 0x1p-106;  // of a smaller one no step has a reciprocal
    table["nvfp4"].anywhere = false;  // 16 neighbours share a scale
    table["nvfp4"].repeats = false;   // small scales have few bits: what is decoded may have another one
    table["drive"].most = 0x1p119;    // a rotation sums
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
    const Extent::Kind kind = section.type.extent->kind;
    if (kind == Extent::Kind::kSized || kind == Extent::Kind::kFixed) return n;  // which elements are chosen
    const Constant& count = section.type.extent->count;
    const auto block =
        count.parameter ? static_cast<Elements>(written.codec->info().values[*count.parameter]) : Elements{count.value};
    if (kind == Extent::Kind::kBlocks) shared = std::max(shared, block);
  }
  return shared;
}

Bytes size_of_sections(const Written& written, Elements n) {
  constexpr Bytes kHeader = 16, kAlignment = 16;
  Bytes end = kHeader;
  for (const Section& section : written.program->sections) {
    if (n == 0) break;
    end = (end + kAlignment - 1) / kAlignment * kAlignment;
    end += (meaning(written).count(section.type, n) * section.type.element.bits + 7) / 8;
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
