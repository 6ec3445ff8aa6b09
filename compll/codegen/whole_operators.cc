// SPDX-License-Identifier: Apache-2.0
//
// Operators of a routine that make arrays in memory, and reductions.
#include <algorithm>
#include <iterator>

#include "compll/codegen/operation_text.h"
#include "compll/codegen/routine_text.h"
#include "compll/codegen/whole_routine.h"

namespace casync::compll {

std::string WholeRoutine::in_parameters(ParameterId id) { return "parameter" + std::to_string(id); }

std::string WholeRoutine::block_size(const Constant& constant) {
  return constant.parameter ? "static_cast<size_t>(" + in_parameters(*constant.parameter) + ")"
                            : "size_t{" + std::to_string(constant.value) + "}";
}

/// The size and the name of the array that an operator goes through at once.
std::string WholeRoutine::whole_operand(const Term& term) {
  const Term& of = *term.arguments.front();
  const std::string from = whole_array(of);
  if (of.type().extent->kind == Extent::Kind::kElements) note_loop("`" + std::string(name_of(term.op)) + "`", from, 0);
  return size(of.type()) + ", " + from;
}

void WholeRoutine::define_where(const std::string& to, const Term& term) {
  const Term& of = *term.arguments.front();
  const std::string from = whole_array(of);
  if (of.type().extent->kind == Extent::Kind::kElements) note_loop("`where`", from, 0);
  out_.line("const auto " + to + " = where(" + size(of.type()) + ", " + size(term.type()) + ", " + from + ", memory);");
}

void WholeRoutine::define_sort(const std::string& to, const Term& term) {
  const std::string from = whole_operand(term), type = type_text(term.type().element);
  const std::string less =
      term.function ? function(term) : "[](" + type + " a, " + type + " b) HWY_ATTR { return a < b; }";
  out_.line("const auto " + to + " = sorted<" + type + ">(" + from + ", memory, " + less + ");");
}

void WholeRoutine::define_histogram(const std::string& to, const Term& term) {
  const std::string from = whole_operand(term);
  out_.line("const auto " + to + " = histogram(" + from + ", " + size(term.type()) + ", memory);");
}

/// `largest` and `kth_largest`: the loop collects candidates, and they are searched after it.
void WholeRoutine::define_largest(const std::string& to, const Term& term, std::optional<VariableId> id) {
  const bool is_one = term.op == Op::kKthLargest;
  const std::string type = type_text(term.type().element);
  const std::string wanted = is_one ? expression(*term.arguments[1]) : size(term.type());
  const Term& of = *term.arguments.front();
  const std::string from = array(of), count = size(of.type()), key = temporary("key");
  const bool all = of.type().extent->kind == Extent::Kind::kElements;
  if (level(from) != 0 || one_by_one_.count(from) != 0) write_loop();
  out_.line("const auto " + key + " = [&](auto i) COMPLL_INLINE { return key_of(" + from + "(i)); };");
  if (!all) {
    return out_.line("const auto " + to + " = " + (is_one ? "kth_largest<" + type + ">" : "largest") + "(" + count +
                     ", " + wanted + ", " + key + ", memory);");
  }
  const std::string name(name_of(term.op)), search = temporary(name);
  out_.line((is_one ? "KthLargest<" + type + "> " : "Largest ") + search + "(" + count + ", " + wanted + ", memory);");
  out_.line(search + ".guess<" + (kept_.empty() ? "0" : "kSample") + ">(" + key + ");");
  add_to_loop("`" + name + "`", search + ".take(" + key + "(i), i);", from, 0);
  behind_.push_back("const " + (is_one ? type : "Array<uint32_t>") + " " + to + " = " + search +
                    (is_one ? ".element(" : ".places(") + key + ");");
  id ? static_cast<void>(awaited_.insert(*id)) : write_loop();
}

void WholeRoutine::define_scatter(const std::string& to, const Term& term, std::optional<VariableId> id) {
  const std::string type = type_text(term.type().element), count = size(term.type());
  const std::string places = whole_array(*term.arguments[0]), values_of = values(term);
  std::string memory = to + "_at";
  if (const auto copied = id ? copied_to_.find(*id) : copied_to_.end(); copied != copied_to_.end()) {
    memory = copied->second;
    for (auto each = picked_from_.begin(); each != picked_from_.end();) {
      each = each->second == memory ? picked_from_.erase(each) : std::next(each);
    }
  } else {
    const std::string into = term.arguments.size() > 2
                                 ? whole_array(*term.arguments[2])
                                 : "[&](auto i) COMPLL_INLINE { return constant(i, " + type + "{}); }";
    const auto wanted = id ? places_.find(*id) : places_.end();
    out_.line(type + "* const " + memory + " = " +
              (wanted == places_.end() ? "taken<" + type + ">(" + count + ", memory)" : wanted->second) + ";");
    out_.line("fill(" + count + ", " + into + ", " + memory + ");");
    if (wanted != places_.end()) made_at_place_.insert(*id);
    if (term.type().extent->kind == Extent::Kind::kElements) {
      note_loop("`" + to.substr(0, to.rfind('_')) + "` is kept", into, 4);
    }
  }
  if (term.type().extent->kind == Extent::Kind::kElements) read_[to][to] = 4;
  const std::string to_all =
      size(term.arguments[0]->type()) + ", " + places + ", " + values_of + ", " + count + ", " + memory;
  if (term.op == Op::kScatter) {
    out_.line("set_at(" + to_all + ");");
  } else {
    const ScalarType element = term.type().element;
    const bool narrow = element.is_integer() && element.bits < 32;
    const std::string sum = operation_text(Op::kAdd, element, {"a", "b"});
    const ScalarType wide = element.is_float() || element == kUintType ? element : kIntType;
    const std::string value =
        narrow ? conversion_text(wide, element, operation_text(Op::kAdd, wide, {"int32_t(a)", "int32_t(b)"})) : sum;
    out_.line("add_at(" + to_all + ", [](" + type + " a, " + type + " b) HWY_ATTR -> " + type + " { return " + value +
              "; });");
  }
  out_.line("[[maybe_unused]] const Array<" + type + "> " + to + "{" + memory + "};");
}

/// Reduces each block to one element: in the tile's loop over blocks, after the phase that has their elements.
void WholeRoutine::define_of_blocks(const std::string& to, const Term& term) {
  const std::string from = array(*term.arguments.front()), type = type_text(term.type().element);
  const std::string block = block_size(term.block), at = to + "_at";
  const std::size_t here = level(from);
  std::string value;
  if (const std::optional<std::string> reducer = group_reducer(term)) {
    value = "reduced<" + *reducer + ", " + std::to_string(loop_) + ">(first, last, " + from + ")";
  } else {
    value = reduction(term, "last - first", "[&](size_t k) HWY_ATTR { return " + from + "(first + k); }");
  }
  out_.line(type + "* const " + at + " = taken<" + type + ">(" + size(term.type()) + ", memory);");
  out_.line("[[maybe_unused]] const Array<" + type + "> " + to + "{" + at + "};");
  phase(here).blocks.push_back(
      "for_blocks(begin, end, " + block +
      ", [&](size_t b, [[maybe_unused]] size_t first, [[maybe_unused]] size_t last) COMPLL_INLINE { " + at +
      "[b] = " + value + "; });");
  note("`" + to.substr(0, to.rfind('_')) + "`", from, 0);
  tiles_.push_back(block);
  level_[to] = here + 1;
}

/// A function of blocks' values, computed once for each block.
void WholeRoutine::define_block_values(const std::string& to, const std::string& from, const Term& term) {
  const std::string type = type_text(term.type().element), at = to + "_at";
  const std::string block = block_size(term.type().extent->count);
  const std::size_t here = std::max<std::size_t>(level(from), 1) - 1;
  out_.line(type + "* const " + at + " = taken<" + type + ">(" + size(term.type()) + ", memory);");
  out_.line("[[maybe_unused]] const Array<" + type + "> " + to + "{" + at + "};");
  phase(here).blocks.push_back("for_blocks(begin, end, " + block + ", [&](size_t b, size_t, size_t) COMPLL_INLINE { " +
                               at + "[b] = " + from + "(b); });");
  tiles_.push_back(block);
  level_[to] = here + 1;
}

void WholeRoutine::define_hadamard(const std::string& to, const Term& term) {
  const Term& of = *term.arguments.front();
  const std::string from = array(of), count = size(of.type()), block = block_size(term.block), at = to + "_at";
  out_.line("float* const " + at + " = taken<float>(" + count + ", memory);");
  out_.line("const Array<float> " + to + "{" + at + "};");
  if (of.type().extent->kind != Extent::Kind::kElements) {
    return out_.line("hadamard<0>(0, " + count + ", " + block + ", " + from + ", " + at + ");");
  }
  const std::size_t here = level(from);
  phase(here).blocks.push_back("hadamard<" + std::to_string(loop_) + ">(begin, end, " + block + ", " + from + ", " +
                               at + ");");
  note("`hadamard`", from, 4);
  kept_.push_back(to);
  tiles_.push_back(block);
  level_[to] = here + 1;
}

/// The class that reduces sixteen elements at a time; empty: elements are reduced one by one.
std::optional<std::string> WholeRoutine::group_reducer(const Term& term) const {
  const ScalarType element = term.arguments.front()->type().element;
  const std::string group = element.kind == ScalarType::Kind::kFloat ? "Float, float"
                            : element.kind == ScalarType::Kind::kInt ? "Int, int32_t"
                                                                     : "Uint, uint32_t";
  switch (term.reducer) {
    case Reducer::kMagnitude: return "Magnitude";
    case Reducer::kCount: return element == kDoubleType ? std::nullopt : std::optional<std::string>("Count");
    case Reducer::kSum: return element.is_float() ? "Sum" : "IntegerSum<" + group + ">";
    case Reducer::kMin:
    case Reducer::kMax:
      if (element == kDoubleType) return std::nullopt;
      return (term.reducer == Reducer::kMin ? "Minimum<" : "Maximum<") + group + ">";
    case Reducer::kUser: break;
  }
  return std::nullopt;
}

/// The name of a reduction's result, after the loop that was put off.
std::string WholeRoutine::tensor_reduction(const Term& term, const std::string& from) {
  const Type& over = term.arguments.front()->type();
  const std::string type = type_text(term.type().element), to = temporary("reduced");
  const std::optional<std::string> reducer = group_reducer(term);
  if (over.extent->kind != Extent::Kind::kElements || !reducer) {
    if (over.extent->kind == Extent::Kind::kElements) {
      write_loop();
      note_loop("`reduce`", from, 0);
    }
    const std::string value = reducer ? "reduced<" + *reducer + ", 0>(0, " + size(over) + ", " + from + ")"
                                      : reduction(term, size(over), from);
    out_.line("const " + type + " " + to + " = " + value + ";");
    return to;
  }
  const bool ordered = term.reducer == Reducer::kSum && over.element.is_float();
  const std::string open = to + "_open", chunks = to + "_chunks";
  out_.line(*reducer + " " + open + ";");
  if (ordered) out_.line("Chunks<" + *reducer + "> " + chunks + ";");
  add_to_loop("`reduce`",
              ordered ? "take_in_order(" + open + ", " + chunks + ", " + from + "(i), i);"
                      : open + ".take(" + from + "(i), i.rest);",
              from, 0);
  write_loop();
  out_.line("const " + type + " " + to + " = " + (ordered ? chunks + ".result(" + open + ")" : open + ".result()") +
            ";");
  return to;
}

std::string WholeRoutine::reduction(const Term& term, const std::string& count, const std::string& from) {
  return reduction_text(term, count, from, [&] { return expression(*term.arguments[1]) + ", " + function(term); });
}

/// Names a function of two elements: its lines stand ahead of the call that takes it.
std::string WholeRoutine::function(const Term& term) {
  const Body& body = *term.function;
  const std::string to = temporary("function");
  std::vector<std::string> words = {"a", "b"};
  const std::string type = type_text(program_.variables[body.parameters[0]].type.element);
  const std::string result = type_text(body.results.front()->type().element);
  out_.open("const auto " + to + " = [&]([[maybe_unused]] " + type + " a, [[maybe_unused]] " + type +
            " b) HWY_ATTR -> " + result);
  write_body(body, words, result);
  out_.close(";");
  return to;
}

}  // namespace casync::compll
