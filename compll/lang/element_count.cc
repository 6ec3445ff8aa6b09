// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/element_count.h"

#include <algorithm>
#include <array>

#include "compll/lang/arithmetic.h"

namespace casync::compll {
namespace {

/// A size's term: numbers, parameters, sizes of arrays and what is computed from them.
Scalar value_of(const Program& program, const Term& term, std::span<const double> parameters,
                const GradientShape& shape) {
  const ScalarType type = term.type().element;
  switch (term.op) {
    case Op::kConstant: return Scalar::of(type, term.number);
    case Op::kParameter: return Scalar::of(type, parameters[term.parameter]);
    case Op::kSize:
      return Scalar::of_uint(
          static_cast<std::uint32_t>(element_count(program, term.arguments.front()->type(), parameters, shape)));
    case Op::kRows: return Scalar::of_uint(static_cast<std::uint32_t>(shape.rows));
    case Op::kColumns: return Scalar::of_uint(static_cast<std::uint32_t>(shape.columns));
    default: break;
  }
  std::array<Scalar, 3> operands;
  for (std::size_t i = 0; i < term.arguments.size(); ++i) {
    operands[i] = value_of(program, *term.arguments[i], parameters, shape);
  }
  const ScalarType from = term.arguments.front()->type().element;
  if (term.op == Op::kConvert) return converted(operands[0], from, type);
  if (term.op == Op::kSelect) return operands[0].as_bool() ? operands[1] : operands[2];
  return computed(term.op, from, std::span(operands).first(term.arguments.size()));
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
  return std::min<Elements>(value_of(program, *program.sizes[count.value].value, parameters, shape).as_uint(), shape.n);
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
