// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/whole_operators.h"

#include <algorithm>

#include "compll/codegen/cpu/whole_routine.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {
namespace {

/// The program's name for an array.
std::string program_word(const std::string& name) { return "`" + name.substr(0, name.rfind('_')) + "`"; }

}  // namespace

void WholeOperators::define_largest(const std::string& to, const Term& term, std::optional<VariableId> id) {
  WholeLoops& loops = text_.loops;
  Writer& out = text_.out;
  const bool is_one = term.op == Op::kKthLargest;
  const std::string type = type_text(term.type().element);
  const std::string wanted = is_one ? text_.values.expression(*term.arguments[1]) : WholeNames::size(term.type());
  const Term& of = *term.arguments.front();
  const std::string from = text_.arrays.array(of), count = WholeNames::size(of.type());
  const std::string key = text_.names.temporary("key");
  if (loops.level(from) != 0 || loops.is_one_by_one(from)) loops.write();
  out.line("const auto " + key + " = [&](auto i) COMPLL_INLINE { return key_of(" + from + "(i)); };");
  if (!of.type().is_over(Extent::Kind::kElements)) {
    return out.line("const auto " + to + " = " + (is_one ? "kth_largest<" + type + ">" : "largest") + "(" + count +
                    ", " + wanted + ", " + key + ", memory);");
  }
  const std::string name(name_of(term.op)), search = text_.names.temporary(name);
  out.line((is_one ? "KthLargest<" + type + "> " : "Largest ") + search + "(" + count + ", " + wanted + ", memory);");
  out.line(search + ".guess<" + (loops.keeps_any() ? "kSample" : "0") + ">(" + key + ");");
  loops.add("`" + name + "`", search + ".take(" + key + "(i), i);", from, 0);
  loops.add_behind("const " + (is_one ? type : "Array<uint32_t>") + " " + to + " = " + search +
                       (is_one ? ".element(" : ".places(") + key + ");",
                   id);
  if (!id) loops.write();
}

/// The size and the name of the array that an operator goes through at once.
std::string WholeOperators::whole_operand(const Term& term) {
  const Term& of = *term.arguments.front();
  const std::string from = text_.arrays.whole_array(of);
  if (of.type().is_over(Extent::Kind::kElements)) {
    text_.loops.note_alone("`" + std::string(name_of(term.op)) + "`", from, 0);
  }
  return WholeNames::size(of.type()) + ", " + from;
}

void WholeOperators::define_where(const std::string& to, const Term& term) {
  const Term& of = *term.arguments.front();
  const std::string from = text_.arrays.whole_array(of), wanted = WholeNames::size(term.type());
  if (of.type().is_over(Extent::Kind::kElements)) text_.loops.note_alone("`where`", from, 0);
  text_.out.line("const auto " + to + " = where(" + WholeNames::size(of.type()) + ", " + wanted + ", " + from +
                 ", memory);");
}

void WholeOperators::define_sort(const std::string& to, const Term& term) {
  const std::string from = whole_operand(term), type = type_text(term.type().element);
  const std::string less =
      term.function ? text_.values.function(term) : "[](" + type + " a, " + type + " b) HWY_ATTR { return a < b; }";
  text_.out.line("const auto " + to + " = sorted<" + type + ">(" + from + ", memory, " + less + ");");
}

void WholeOperators::define_call(const std::string& to, const Term& term, const std::string& function,
                                 const std::string& more) {
  const std::string from = whole_operand(term);
  text_.out.line("const auto " + to + " = " + function + "(" + from + (more.empty() ? "" : ", " + more) + ", memory);");
}

/// The memory of a scatter, which has the elements that it leaves as they are.
std::string WholeOperators::memory_of_scatter(const std::string& to, const Term& term, std::optional<VariableId> id) {
  if (const std::optional<std::string> copy = text_.places.take_copy(id)) return *copy;
  const std::string type = type_text(term.type().element), count = WholeNames::size(term.type());
  const std::string into = term.arguments.size() > 2
                               ? text_.arrays.whole_array(*term.arguments[2])
                               : "[&](auto i) COMPLL_INLINE { return constant(i, " + type + "{}); }";
  std::string memory = to + "_at";
  const std::string place = text_.places.take(id).value_or("taken<" + type + ">(" + count + ", memory)");
  text_.out.line(type + "* const " + memory + " = " + place + ";");
  text_.out.line("fill(" + count + ", " + into + ", " + memory + ");");
  if (term.type().is_over(Extent::Kind::kElements)) text_.loops.note_alone(program_word(to) + " is kept", into, 4);
  return memory;
}

/// The function that adds an element to another one, which is of the same type again.
std::string WholeOperators::sum_text(const Term& scatter) {
  const ScalarType element = scatter.type().element;
  const std::string type = type_text(element);
  const ScalarType wide = element.is_float() || element == kUintType ? element : kIntType;
  std::string value = operation_text(Op::kAdd, element, {"a", "b"});
  if (element.is_integer() && element.bits < 32) {
    value = conversion_text(wide, element, operation_text(Op::kAdd, wide, {"int32_t(a)", "int32_t(b)"}));
  }
  return "[](" + type + " a, " + type + " b) HWY_ATTR -> " + type + " { return " + value + "; }";
}

void WholeOperators::define_scatter(const std::string& to, const Term& term, std::optional<VariableId> id) {
  const Term& at = *term.arguments[0];
  const std::string places = text_.arrays.whole_array(at), values = text_.values.values(term);
  const std::string memory = memory_of_scatter(to, term, id), type = type_text(term.type().element);
  if (term.type().is_over(Extent::Kind::kElements)) text_.loops.read(to)[to] = 4;
  const std::string to_all = WholeNames::size(at.type()) + ", " + places + ", " + values + ", " +
                             WholeNames::size(term.type()) + ", " + memory;
  text_.out.line(term.op == Op::kScatter ? "set_at(" + to_all + ");"
                                         : "add_at(" + to_all + ", " + sum_text(term) + ");");
  text_.out.line("[[maybe_unused]] const Array<" + type + "> " + to + "{" + memory + "};");
}

void WholeOperators::define_memory_of_blocks(const std::string& to, const Term& term) {
  const std::string type = type_text(term.type().element);
  text_.out.line(type + "* const " + to + "_at = taken<" + type + ">(" + WholeNames::size(term.type()) + ", memory);");
  text_.out.line("[[maybe_unused]] const Array<" + type + "> " + to + "{" + to + "_at};");
}

void WholeOperators::define_block_reduction(const std::string& to, const Term& term) {
  const std::string from = text_.arrays.array(*term.arguments.front());
  const std::string block = WholeNames::block_size(term.block);
  const std::size_t here = text_.loops.level(from);
  std::string value;
  if (const std::optional<std::string> reducer = WholeValues::group_reducer(term)) {
    value = "reduced<" + *reducer + ", " + std::to_string(text_.loops.number()) + ">(first, last, " + from + ")";
  } else {
    value = text_.values.reduction(term, "last - first", "[&](size_t k) HWY_ATTR { return " + from + "(first + k); }");
  }
  define_memory_of_blocks(to, term);
  text_.loops.add_of_blocks(
      to,
      "for_blocks(begin, end, " + block +
          ", [&](size_t b, [[maybe_unused]] size_t first, [[maybe_unused]] size_t last) COMPLL_INLINE { " + to +
          "_at[b] = " + value + "; });",
      here, block);
  text_.loops.note(program_word(to), from, 0);
}

void WholeOperators::define_block_values(const std::string& to, const std::string& from, const Term& term) {
  const std::string block = WholeNames::block_size(term.type().extent->count);
  const std::size_t here = std::max<std::size_t>(text_.loops.level(from), 1) - 1;
  define_memory_of_blocks(to, term);
  text_.loops.add_of_blocks(to,
                            "for_blocks(begin, end, " + block + ", [&](size_t b, size_t, size_t) COMPLL_INLINE { " +
                                to + "_at[b] = " + from + "(b); });",
                            here, block);
}

void WholeOperators::define_hadamard(const std::string& to, const Term& term) {
  const Term& of = *term.arguments.front();
  const std::string from = text_.arrays.array(of), count = WholeNames::size(of.type());
  const std::string block = WholeNames::block_size(term.block), at = to + "_at";
  text_.out.line("float* const " + at + " = taken<float>(" + count + ", memory);");
  text_.out.line("const Array<float> " + to + "{" + at + "};");
  if (!of.type().is_over(Extent::Kind::kElements)) {
    return text_.out.line("hadamard<0>(0, " + count + ", " + block + ", " + from + ", " + at + ");");
  }
  WholeLoops& loops = text_.loops;
  const std::string call =
      "hadamard<" + std::to_string(loops.number()) + ">(begin, end, " + block + ", " + from + ", " + at + ");";
  loops.add_of_blocks(to, call, loops.level(from), block);
  loops.note("`hadamard`", from, 4);
  loops.keep(to);
}

}  // namespace casync::compll
