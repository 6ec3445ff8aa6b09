// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/routine.h"

#include <set>

#include "compll/codegen/text/operation_text.h"

namespace casync::compll {

std::string CudaRoutine::section_word(const Program& program, std::uint32_t index) {
  return program.sections[index].name + "_" + std::to_string(index);
}

void CudaRoutine::define(ValueId id, const std::string& right) {
  const Value& value = graph_[id];
  out_.source_line(value.at);
  out_.line("const " + type_text(value.type) + " " + text_.name(id) + " = " + right + ";");
}

void CudaRoutine::write_hadamards() {
  std::set<std::string> known;
  for (const Value& value : graph_.values()) {
    if (value.kind != Value::Kind::kTransform || !known.insert(hadamard(value)).second) continue;
    const Constant& size = value.rotated;
    const auto sizes = [&](double least, double most) {
      return "<" + integer_literal(kIntType, least) + ", " + integer_literal(kIntType, most) + "> ";
    };
    if (size.parameter) {
      const ProgramParameter& parameter = program_.parameters[*size.parameter];
      out_.line("[[maybe_unused]] const Hadamard" + sizes(parameter.least, parameter.most) + hadamard(value) +
                "(static_cast<uint32_t>(settings.parameters[" + std::to_string(*size.parameter) + "]));");
    } else {
      out_.line("[[maybe_unused]] const Hadamard" + sizes(size.value, size.value) + hadamard(value) + "(" +
                std::to_string(size.value) + ");");
    }
  }
}

void CudaRoutine::write_ahead(const CudaAhead& ahead, const std::string& numbers,
                              const std::function<void(ValueId)>& element) {
  const Value& value = graph_[ahead.id];
  const bool rotates = value.kind == Value::Kind::kTransform;
  const std::string name = rotated(ahead.id);
  out_.line("#pragma unroll");
  out_.open("for (uint32_t k = 0; k < 4; ++k)");
  for (const ValueId each : ahead.elements) element(each);
  out_.line(name + "[k] = " + (rotates ? text_.bare(value.arguments.front()) : text_.definition(ahead.id)) + ";");
  out_.close();
  out_.forget_line();
  if (!rotates) return;
  out_.line(name + " = " + hadamard(value) + ".rotated<" + all_there_ + ">(" + numbers + ", " + name + ", i, n);");
}

std::string CudaRoutine::quad_type(ValueId id) const { return "Quad<" + type_text(graph_[id].type) + "> "; }

std::string CudaRoutine::parameter(const Value& value) const {
  return "static_cast<" + type_text(value.type) + ">(settings.parameters[" + std::to_string(value.parameter) + "])";
}

std::string CudaRoutine::count(const Value& value) const {
  return value.over == Domain::kElement ? "static_cast<uint32_t>(n)"
                                        : "static_cast<uint32_t>(entries_of_blocks(n, settings.log2_block))";
}

std::string CudaRoutine::hadamard(const Value& transform) {
  const Constant& size = transform.rotated;
  return size.parameter ? "turn_of_p" + std::to_string(*size.parameter) : "turn" + std::to_string(size.value);
}

std::string CudaRoutine::load_one(const Value& value, const std::string& entry) const {
  const std::string bits = std::to_string(value.type.bits);
  const std::string at = "(" + section(value.section) + ", " + entry + ")";
  if (value.type == kDoubleType) return "load_double" + at;
  return from_code(value.type, "load_one<" + bits + ">" + at);
}

std::string CudaRoutine::from_code(ScalarType type, const std::string& code) {
  switch (type.kind) {
    case ScalarType::Kind::kFloat: return "from_bits(" + code + ")";
    case ScalarType::Kind::kBool: return "to_bool(" + code + ")";
    case ScalarType::Kind::kInt: return "with_sign<" + std::to_string(type.bits) + ">(" + code + ")";
    default: return code;
  }
}

std::string CudaRoutine::entry_bits(std::uint32_t index) const {
  return std::to_string(program_.sections[index].type.element.bits);
}

}  // namespace casync::compll
