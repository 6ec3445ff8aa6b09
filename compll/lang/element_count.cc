// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/element_count.h"

#include <algorithm>
#include <vector>

#include "compll/lang/size_value.h"

namespace casync::compll {
namespace {

/// A size's term: numbers, parameters, sizes of arrays and operations on them, in 64 bits.
SizeValue value_of(const Program& program, const Term& term, std::span<const double> parameters,
                   const GradientShape& shape) {
  const ScalarType type = term.type().element;
  const auto whole = [](Elements count) { return SizeValue(static_cast<unsigned long long>(count)); };
  switch (term.op) {
    case Op::kConstant: return size_value(type, term.number);
    case Op::kParameter: return size_value(type, parameters[term.parameter]);
    case Op::kSize: return whole(element_count(program, term.arguments.front()->type(), parameters, shape));
    case Op::kRows: return whole(shape.rows);
    case Op::kColumns: return whole(shape.columns);
    default: break;
  }
  std::vector<SizeValue> operands;
  for (const TermPtr& argument : term.arguments) operands.push_back(value_of(program, *argument, parameters, shape));
  if (term.op == Op::kConvert) return converted_size(operands[0], type);
  if (term.op == Op::kSelect) return std::get<bool>(operands[0]) ? operands[1] : operands[2];
  return computed_size(term.op, operands);
}

}  // namespace

Elements element_count(const Program& program, const Type& type, std::span<const double> parameters,
                       const GradientShape& shape) {
  if (!type.extent) return 1;
  const Constant& count = type.extent->count;
  const Elements number = count.parameter ? static_cast<Elements>(parameters[*count.parameter]) : count.value;
  switch (type.extent->kind) {
    case Extent::Kind::kElements: return shape.n;
    case Extent::Kind::kBlocks: return (shape.n + number - 1) / number;
    case Extent::Kind::kFixed: return number;
    case Extent::Kind::kSized: break;
  }
  const SizeValue size = value_of(program, *program.sizes[count.value].value, parameters, shape);
  return std::min<Elements>(std::get<unsigned long long>(size), shape.n);
}

double payload_bits(const Program& program, std::span<const double> parameters, Elements n) {
  double bits = 0;
  for (const Section& section : program.sections) {
    if (!section.type.extent || section.type.extent->kind == Extent::Kind::kFixed) continue;
    const auto count = static_cast<double>(element_count(program, section.type, parameters, n));
    const ScalarType element = section.type.element;
    bits += (element == kTritType ? 8.0 / 5 : element.bits) * count / static_cast<double>(n);
  }
  return bits;
}

}  // namespace casync::compll
