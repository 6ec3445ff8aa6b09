// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/vector_definitions.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

#include "compll/codegen/cuda/routine.h"
#include "compll/codegen/cuda/terms.h"
#include "compll/codegen/cuda/vector_memory.h"
#include "compll/codegen/cuda/vector_names.h"
#include "compll/codegen/cuda/vector_routine.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {

std::string CudaDefinitions::name(cuda_vector::Id id) {
  // Without calls of itself: values that are made of each other are as many as the steps of a program.
  std::vector<cuda_vector::Id> waiting{id};
  while (!waiting.empty()) {
    const cuda_vector::Id next = waiting.back();
    const cuda_vector::Value& value = text_.plan.values[next];
    const std::size_t waits = waiting.size();
    if (defined_.count(value.name) == 0) {
      for (const cuda_vector::Id needed : needs_of(value)) {
        if (defined_.count(text_.plan.values[needed].name) == 0) waiting.push_back(needed);
      }
      std::reverse(waiting.begin() + static_cast<std::ptrdiff_t>(waits), waiting.end());
    }
    if (waiting.size() > waits) continue;
    waiting.pop_back();
    if (defined_.insert(value.name).second) define(next);
  }
  return text_.plan.values[id].name;
}

/// The values that the definition refers to, in the order in which they are defined ahead of it.
std::vector<cuda_vector::Id> CudaDefinitions::needs_of(const cuda_vector::Value& value) const {
  std::vector<cuda_vector::Id> ids;
  if (const auto* single = std::get_if<cuda_vector::Single>(&value.definition)) {
    text_.values.add_needs(*single->term, ids);
  } else if (const auto* map = std::get_if<cuda_vector::Map>(&value.definition)) {
    for (const std::optional<cuda_vector::Id>& argument : map->arguments) {
      if (argument) ids.push_back(*argument);
    }
    text_.values.add_needs(*map->term->function, ids);
  } else if (const auto* spread = std::get_if<cuda_vector::Spread>(&value.definition)) {
    ids.push_back(spread->from);
  } else if (const auto* product = std::get_if<cuda_vector::OuterProduct>(&value.definition)) {
    ids = {product->left, product->right};
  }
  return ids;
}

void CudaDefinitions::define(cuda_vector::Id id) {
  const cuda_vector::Value& value = text_.plan.values[id];
  if (holds_input_ && id == text_.plan.of_variable.at(text_.plan.routine->gradient)) {
    text_.out.line("Held<float> " + value.name + ";");
  } else {
    std::visit([&](const auto& definition) { define(value, definition); }, value.definition);
  }
}

std::string CudaDefinitions::name_of_variable(VariableId id) {
  if (const auto own = in_body_.find(id); own != in_body_.end()) return own->second;
  return name(text_.plan.of_variable.at(id));
}

std::string CudaDefinitions::name_of(const Term& term) {
  return term.op == Op::kVariable ? name_of_variable(term.variable) : name(text_.plan.of_term.at(&term));
}

void CudaDefinitions::hold_input() {
  ahead_of_input_ = defined_;
  holds_input_ = true;
}

void CudaDefinitions::release_input() {
  defined_ = ahead_of_input_;
  holds_input_ = false;
}

void CudaDefinitions::define(const cuda_vector::Value& value, const cuda_vector::Memory& memory) {
  text_.out.line("const Array<" + type_text(value.type.element) + "> " + value.name + "{" +
                 cuda_address(text_.plan, memory.at) + "};");
}

void CudaDefinitions::define(const cuda_vector::Value& value, const cuda_vector::Element& element) {
  text_.out.line("const " + type_text(value.type.element) + " " + value.name + " = *" +
                 cuda_address(text_.plan, element.at) + ";");
}

void CudaDefinitions::define(const cuda_vector::Value& value, const cuda_vector::Received& received) {
  const std::string element = type_text(value.type.element);
  const std::string section = "Section<" + element + ", " + cuda_width(value.type.element) + ">{payload + sections." +
                              CudaRoutine::section_word(text_.program, static_cast<std::uint32_t>(received.section)) +
                              "}";
  text_.out.line(value.type.is_array() ? "const auto " + value.name + " = " + section + ";"
                                       : "const " + element + " " + value.name + " = " + section + "(0);");
}

void CudaDefinitions::define(const cuda_vector::Value& value, const cuda_vector::Single& single) {
  const std::string text = text_.values.scalar(*single.term);
  text_.out.source_line(single.term->at);
  text_.out.line("const " + type_text(value.type.element) + " " + value.name + " = " + text + ";");
}

void CudaDefinitions::define(const cuda_vector::Value& value, const cuda_vector::Map& map) {
  const Body& body = *map.term->function;
  std::vector<std::string> arguments;
  for (const std::optional<cuda_vector::Id>& argument : map.arguments) {
    arguments.push_back(argument ? name(*argument) + "(i)" : "");
  }
  text_.values.prepare(body);
  text_.out.source_line(map.term->at);
  const std::size_t begin = text_.out.size();
  text_.out.open("const auto " + value.name + " = [&](uint64_t i) -> " + type_text(value.type.element));
  text_.values.write_body(body, arguments, map.result);
  text_.out.close(";");
  std::string text = text_.out.cut(begin);
  const std::size_t lines = text.find('\n');
  if (!CudaStages::has_word(text.substr(lines), "i")) text.replace(text.find("(uint64_t i)"), 12, "(uint64_t)");
  text_.out.append(text);
}

void CudaDefinitions::define(const cuda_vector::Value& value, const cuda_vector::Range&) {
  const std::string type = type_text(value.type.element);
  text_.out.line("const auto " + value.name + " = [&](uint64_t i) -> " + type + " { return static_cast<" + type +
                 ">(i); };");
}

void CudaDefinitions::define(const cuda_vector::Value& value, const cuda_vector::Spread& spread) {
  const std::string from = name(spread.from), size = CudaNames::block_size(spread.block);
  const bool of_vectors = spread.block.dimension.has_value();
  const std::string which = "static_cast<uint32_t>(i) / " + (of_vectors ? "static_cast<uint32_t>(" + size + ")" : size);
  const std::string given = CudaNames::size(text_.plan.values[spread.from].type);
  text_.out.line("const auto " + value.name + " = [&](uint64_t i) -> " + type_text(value.type.element) + " { return " +
                 (of_vectors ? "element(" + given + ", " + from + ", " + which : from + "(" + which) + "); };");
}

void CudaDefinitions::define(const cuda_vector::Value& value, const cuda_vector::OuterProduct& product) {
  const std::string of_rows = name(product.left), of_columns = name(product.right);
  const auto size = [&](cuda_vector::Id id) { return CudaNames::size(text_.plan.values[id].type); };
  text_.out.source_line(product.term->at);
  text_.out.line("const auto " + value.name + " = outer_product(n, " + size(product.left) + ", " + of_rows + ", " +
                 size(product.right) + ", " + of_columns + ");");
}

void CudaDefinitions::define(const cuda_vector::Value& value, const cuda_vector::Reduced& reduced) {
  const ScalarType element = value.type.element;
  const std::string type = type_text(element);
  std::string text =
      (reduced.by.ordered ? "out_of_slot<" + type + ">" : CudaReductions::reducer(reduced.by) + "::value_of") +
      "(load_slot(" + cuda_space(text_.plan, reduced.slot, "uint64_t") + "))";
  // Converts the result of nothing, an end of 32 bits' range, to that of the own type.
  if (CudaReductions::is_narrowed(reduced.by)) text = cuda_conversion({element.kind, 32}, element, text);
  text_.out.line("const " + type + " " + value.name + " = " + text + ";");
}

void CudaDefinitions::define(const cuda_vector::Value& value, const cuda_vector::KthLargest& found) {
  const std::string type = type_text(value.type.element);
  text_.out.line("const " + type + " " + value.name + " = kth_largest<" + type + ">(" +
                 CudaSelection::name_of(text_.plan.searches[found.search]) + ");");
}

}  // namespace casync::compll
