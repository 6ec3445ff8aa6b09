// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/vector_calls.h"

#include "compll/codegen/cpu/addition_text.h"
#include "compll/codegen/cpu/vector_definitions.h"
#include "compll/codegen/cpu/vector_names.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/ir/vector/cpu/singles.h"

namespace casync::compll {
namespace {

/// Converts the result of a reduction of sixteen elements at a time: the least and the greatest of nothing is an end of
/// 32 bits' range, not of the element's own.
std::string in_own_range(const Term& term, const std::string& found) {
  const bool is_end = term.reducer == Reducer::kMin || term.reducer == Reducer::kMax;
  const ScalarType element = term.type().element;
  return is_end && element.is_integer() ? conversion_text({element.kind, 32}, element, found) : found;
}

}  // namespace

bool reduces_in_chunks(const Term& term) {
  return term.reducer == Reducer::kSum && term.arguments.front()->type().element.is_float();
}

void VectorCalls::define(cpu_vector::Id id, const std::string& value) {
  out_.line("const auto " + name(id) + " = " + value + ";");
}

void VectorCalls::write(const cpu_vector::Function& function) {
  const Term& term = *function.term;
  const Body& body = *term.function;
  const std::string type = type_text(term.arguments.front()->type().element);
  const std::string result = type_text(body.results.front()->type().element);
  out_.open("const auto " + name(function.name) + " = [&]([[maybe_unused]] " + type + " a, [[maybe_unused]] " + type +
            " b) HWY_ATTR -> " + result);
  values_.write_body(body, {"a", "b"});
  out_.close(";");
}

void VectorCalls::write(const cpu_vector::Key& key) {
  define(key.key, "[&](auto i) COMPLL_INLINE { return key_of(" + name(key.from) + "(i)); }");
}

/// The number of elements that a selection finds, or the rank of the one that it finds.
std::string VectorCalls::wanted(const Term& selection) {
  return selection.op == Op::kKthLargest ? values_.expression(*selection.arguments[1])
                                         : VectorNames::size(selection.type());
}

std::string VectorCalls::text(const cpu_vector::SizeOf& count) const { return VectorNames::size(count.type); }

std::string VectorCalls::text(const cpu_vector::LessOf& less) const {
  const std::string type = type_text(less.element);
  return "[](" + type + " a, " + type + " b) HWY_ATTR { return a < b; }";
}

void VectorCalls::write(const cpu_vector::Apply& call) {
  std::string arguments;
  for (const cpu_vector::Argument& argument : call.arguments) {
    arguments += (arguments.empty() ? "" : ", ") + std::visit([&](const auto& each) { return text(each); }, argument);
  }
  define(call.value, call.function + (call.of ? "<" + type_text(*call.of) + ">(" : "(") + arguments + ")");
}

void VectorCalls::write(const cpu_vector::Search& search) {
  const Term& term = *search.term;
  const std::string to = name(search.search);
  const std::string type =
      term.op == Op::kKthLargest ? "KthLargest<" + type_text(term.type().element) + "> " : "Largest ";
  out_.line(type + to + "(" + VectorNames::size(term.arguments.front()->type()) + ", " + wanted(term) + ", memory);");
  out_.line(to + ".guess<" + (search.is_sampled ? "kSample" : "0") + ">(" + name(search.key) + ");");
}

void VectorCalls::write(const cpu_vector::Found& found) {
  const bool is_one = found.term->op == Op::kKthLargest;
  out_.line("const " + (is_one ? type_text(found.term->type().element) : "Array<uint32_t>") + " " + name(found.value) +
            " = " + name(found.search) + (is_one ? ".element(" : ".places(") + name(found.key) + ");");
}

void VectorCalls::write(const cpu_vector::Rotate& rotate) {
  out_.line("hadamard<0>(0, " + values_.size(rotate.array) + ", " + VectorNames::block_size(rotate.block) + ", " +
            name(rotate.from) + ", " + name(rotate.array) + "_at);");
}

void VectorCalls::write(const cpu_vector::ScatterMemory& memory) {
  const std::string type = values_.element(memory.array), count = values_.size(memory.array);
  const std::string into =
      memory.into ? name(*memory.into) : "[&](auto i) COMPLL_INLINE { return constant(i, " + type + "{}); }";
  const std::string at = name(memory.array) + "_at";
  const std::string place = memory.state ? state_memory(*memory.state) : "taken<" + type + ">(" + count + ", memory)";
  out_.line(type + "* const " + at + " = " + place + ";");
  out_.line("fill(" + count + ", " + into + ", " + at + ");");
}

void VectorCalls::write(const cpu_vector::Scatter& scatter) {
  const Term& term = *scatter.term;
  const std::string to = name(scatter.array);
  const std::string to_all = VectorNames::size(term.arguments[0]->type()) + ", " + name(scatter.places) + ", " +
                             values_.values_of(scatter.values, term) + ", " + values_.size(scatter.array) + ", " + to +
                             "_at";
  out_.line(term.op == Op::kScatter ? "set_at(" + to_all + ");"
                                    : "add_at(" + to_all + ", " + addition_text(term.type().element) + ");");
  out_.line("[[maybe_unused]] const Array<" + values_.element(scatter.array) + "> " + to + "{" + to + "_at};");
}

void VectorCalls::write(const cpu_vector::OpenReducer& reducer) {
  const std::string by = group_reducer(*reducer.term), to = name(reducer.value);
  out_.line(by + " " + to + "_open;");
  if (reduces_in_chunks(*reducer.term)) out_.line("Chunks<" + by + "> " + to + "_chunks;");
}

void VectorCalls::write(const cpu_vector::Reduced& reduced) {
  const std::string to = name(reduced.value);
  out_.line("const " + type_text(reduced.term->type().element) + " " + to + " = " +
            (reduces_in_chunks(*reduced.term) ? to + "_chunks.result(" + to + "_open)"
                                              : in_own_range(*reduced.term, to + "_open.result()")) +
            ";");
}

void VectorCalls::write(const cpu_vector::Reduce& reduce) {
  const Term& term = *reduce.term;
  const std::string size = VectorNames::size(term.arguments.front()->type()), from = name(reduce.from);
  const std::string value =
      cpu_vector::reduces_groups(term)
          ? in_own_range(term, "reduced<" + group_reducer(term) + ", 0>(0, " + size + ", " + from + ")")
          : values_.reduction(term, size, from, reduce.function);
  out_.line("const " + type_text(term.type().element) + " " + name(reduce.value) + " = " + value + ";");
}

}  // namespace casync::compll
