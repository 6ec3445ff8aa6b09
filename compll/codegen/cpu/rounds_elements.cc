// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/rounds_elements.h"

#include <variant>

#include "compll/codegen/cpu/addition_text.h"
#include "compll/codegen/cpu/rounds_names.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {

void RoundsElements::write(const cpu_turns::Single& single) {
  const std::string to = name(single.value);
  out_.line("const " + type_text(single.term->type().element) + " " + to + " = " + values_.expression(*single.term) +
            ";");
  if (single.to) out_.line("*(" + memory_.typed(*single.to, single.value, "") + ") = " + to + ";");
}

void RoundsElements::write(const cpu_turns::Map& map) {
  std::vector<std::string> arguments;
  for (const cpu_turns::Id from : map.arguments) arguments.push_back(name(from) + "(i)");
  out_.open("[[maybe_unused]] const auto " + name(map.array) + " = [&]([[maybe_unused]] size_t i) HWY_ATTR -> " +
            type_text(map.term->type().element));
  values_.write_body(*map.term->function, arguments);
  out_.close(";");
}

void RoundsElements::write(const cpu_turns::Range& range) {
  const std::string type = type_text(plan_.values[range.array].type.element);
  out_.line("[[maybe_unused]] const auto " + name(range.array) + " = [&](size_t i) HWY_ATTR -> " + type +
            " { return static_cast<" + type + ">(i); };");
}

void RoundsElements::write(const cpu_turns::Spread& spread) {
  const Term& term = *spread.term;
  out_.line("[[maybe_unused]] const auto " + name(spread.array) + " = [&](size_t i) HWY_ATTR -> " +
            type_text(term.type().element) + " { return picked(" + RoundsNames::size(term.arguments.front()->type()) +
            ", " + name(spread.from) + ", static_cast<uint32_t>(i / " + RoundsNames::length(term.block) + ")); };");
}

void RoundsElements::write(const cpu_turns::Function& function) {
  const std::string type = type_text(function.term->arguments.front()->type().element);
  out_.open("[[maybe_unused]] const auto " + name(function.name) + " = [&]([[maybe_unused]] " + type +
            " a, [[maybe_unused]] " + type + " b) HWY_ATTR -> " + type);
  values_.write_body(*function.term->function, {"a", "b"});
  out_.close(";");
}

void RoundsElements::write(const cpu_turns::Reduce& reduce) {
  const Term& term = *reduce.term;
  out_.line("const " + type_text(term.type().element) + " " + name(reduce.value) + " = " +
            values_.reduction(term, RoundsNames::size(term.arguments[0]->type()), name(reduce.from), reduce.function) +
            ";");
}

void RoundsElements::write(const cpu_turns::ReduceBlocks& reduce) {
  const Term& term = *reduce.term;
  out_.line("reduce_vectors(" + RoundsNames::size(term.arguments.front()->type()) + ", " +
            RoundsNames::length(term.block) + ", " + name(reduce.from) + ", " + RoundsNames::size(term.type()) + ", " +
            memory_.pointer(reduce.array) + ", [&](size_t count, const auto& elements) HWY_ATTR { return " +
            values_.reduction(term, "count", "elements", reduce.function) + "; });");
}

void RoundsElements::write(const cpu_turns::Apply& call) {
  std::string arguments;
  for (const cpu_turns::Argument& argument : call.arguments) {
    arguments += (arguments.empty() ? "" : ", ") + std::visit([&](const auto& each) { return text(each); }, argument);
  }
  const std::string result =
      call.value ? "const " + type_text(plan_.values[*call.value].type.element) + " " + name(*call.value) + " = " : "";
  out_.line(result + call.function + "(" + arguments + ");");
}

std::string RoundsElements::text(const cpu_turns::SizeOf& count) { return RoundsNames::size(count.type); }
std::string RoundsElements::text(const cpu_turns::LengthOf& length) { return RoundsNames::length(length.length); }
std::string RoundsElements::text(const Term* value) const { return values_.expression(*value); }
std::string RoundsElements::text(const cpu_turns::MemoryOf& memory) const { return memory_.pointer(memory.array); }

void RoundsElements::write(const cpu_turns::Zeros& zeros) {
  const Type& type = plan_.values[zeros.array].type;
  out_.line("std::fill_n(" + memory_.pointer(zeros.array) + ", " + RoundsNames::size(type) + ", " +
            type_text(type.element) + "{});");
}

void RoundsElements::write(const cpu_turns::Scatter& scatter) {
  const Term& term = *scatter.term;
  const ScalarType type = term.type().element;
  const std::string values = scatter.values ? name(*scatter.values)
                                            : "[&](size_t) HWY_ATTR -> " + type_text(type) + " { return " +
                                                  values_.expression(*term.arguments[1]) + "; }";
  const std::string all = RoundsNames::size(term.arguments[0]->type()) + ", " + name(scatter.places) + ", " + values +
                          ", " + RoundsNames::size(term.type()) + ", " + memory_.pointer(scatter.array);
  out_.line(term.op == Op::kScatter ? "set_at(" + all + ");" : "add_at(" + all + ", " + addition_text(type) + ");");
}

}  // namespace casync::compll
