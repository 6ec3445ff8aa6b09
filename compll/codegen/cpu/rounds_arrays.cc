// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/rounds_arrays.h"

#include <utility>
#include <vector>

#include "compll/codegen/cpu/rounds_routine.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {

RoundsArray RoundsArrays::array_of(const Term& term) {
  if (term.op == Op::kVariable) return arrays_.at(term.variable);
  return define(term, text_.temporary(std::string(name_of(term.op))), "");
}

RoundsArray RoundsArrays::settled(const Term& term) {
  RoundsArray array = array_of(term);
  if (array.outers.empty()) return array;
  return in_memory(std::move(array), term.type(), "", "a product");
}

RoundsArray RoundsArrays::define(const Term& term, const std::string& to, const std::string& place) {
  switch (term.op) {
    case Op::kMap: return define_map(term, to);
    case Op::kMatmul: return define_matmul(term, to, place);
    case Op::kRange: return define_range(term, to);
    case Op::kSpread: return define_spread(term, to);
    case Op::kBlockReduce: return define_block_reduction(term, to, place);
    case Op::kOrthonormalize: return define_orthonormal(term, to, place);
    default: break;  // the other ones are interpreted here
  }
  text_.refuse(term.at, "`" + std::string(name_of(term.op)) + "`");
}

void RoundsArrays::take_memory(const Type& type, const std::string& to, const std::string& place) {
  const std::string element = type_text(type.element);
  const std::string own = "taken<" + element + ">(" + RoundsRoutine::size(type) + ", memory)";
  text_.out.line(element + "* const " + to + "_at = " + (place.empty() ? own : place) + ";");
}

RoundsArray RoundsArrays::stored(const Type& type, const std::string& to) {
  text_.out.line("[[maybe_unused]] const Stored<" + type_text(type.element) + "> " + to + "{" + to + "_at};");
  return {to, to + "_at", "", {}, {}, ""};
}

RoundsArray RoundsArrays::define_range(const Term& term, const std::string& to) {
  const std::string type = type_text(term.type().element);
  text_.out.line("[[maybe_unused]] const auto " + to + " = [&](size_t i) HWY_ATTR -> " + type +
                 " { return static_cast<" + type + ">(i); };");
  return {to, "", "", {}, {}, ""};
}

RoundsArray RoundsArrays::define_spread(const Term& term, const std::string& to) {
  const Type& given = term.arguments.front()->type();
  const RoundsArray from = settled(*term.arguments.front());
  text_.out.line("[[maybe_unused]] const auto " + to + " = [&](size_t i) HWY_ATTR -> " +
                 type_text(term.type().element) + " { return picked(" + RoundsRoutine::size(given) + ", " + from.name +
                 ", static_cast<uint32_t>(i / " + RoundsRoutine::length(term.block) + ")); };");
  return {to, "", "", {}, {}, ""};
}

RoundsArray RoundsArrays::define_block_reduction(const Term& term, const std::string& to, const std::string& place) {
  const Term& of = *term.arguments.front();
  const RoundsArray from = settled(of);
  take_memory(term.type(), to, place);
  const std::string one = text_.values.reduction(term, "count", "elements");
  text_.out.line("reduce_vectors(" + RoundsRoutine::size(of.type()) + ", " + RoundsRoutine::length(term.block) + ", " +
                 from.name + ", " + RoundsRoutine::size(term.type()) + ", " + to +
                 "_at, [&](size_t count, const auto& elements) HWY_ATTR { return " + one + "; });");
  text_.note("`block_reduce`", from, of.type(), 0);
  return stored(term.type(), to);
}

RoundsArray RoundsArrays::define_orthonormal(const Term& term, const std::string& to, const std::string& place) {
  const RoundsArray from = array_of(*term.arguments.front());
  const std::string count = RoundsRoutine::size(term.type());
  take_memory(term.type(), to, place);
  if (from.memory.empty()) {
    fill(from, term.type(), to + "_at", "`orthonormalize`");
  } else {
    text_.out.line("copy(" + from.memory + ", " + count + ", " + to + "_at);");
  }
  text_.out.line("orthonormalize(" + to + "_at, " + count + ", " + RoundsRoutine::length(term.block) + ", memory);");
  return stored(term.type(), to);
}

RoundsArray RoundsArrays::define_matmul(const Term& term, const std::string& to, const std::string& place) {
  const Type &of_left = term.arguments[0]->type(), &of_right = term.arguments[1]->type();
  const std::string some = RoundsRoutine::size(of_right), wanted = RoundsRoutine::size(term.type());
  RoundsArray left = array_of(*term.arguments[0]);
  const RoundsArray right = in_memory(array_of(*term.arguments[1]), of_right, "", "vectors");
  if (term.form == MatmulForm::kOuter) {
    left = in_memory(std::move(left), of_left, "", "vectors");
    text_.out.line("Outer " + to + " = outer_product(v.rows, v.columns, " + left.memory + ", " +
                   RoundsRoutine::size(of_left) + ", " + right.memory + ", " + some + ", memory);");
    return {to, "", "", {to}, {}, ""};
  }
  const std::string from = piece(left);
  const bool of_rows = term.form == MatmulForm::kOfRows;
  take_memory(term.type(), to, place);
  text_.out.line(std::string(of_rows ? "products_of_rows" : "products_of_columns") + "(v.rows, v.columns, " + from +
                 ", " + right.memory + ", " + some + ", " + to + "_at, " + wanted + (of_rows ? ", memory);" : ");"));
  RoundsArray made = stored(term.type(), to);
  text_.note(of_rows ? "its rows are multiplied" : "its columns are multiplied", left, of_left,
             left.fills.empty() ? 0 : 4);
  if (!left.fills.empty()) {  // from here on the matrix is in memory
    const std::string kept = text_.temporary("kept");
    text_.out.line("[[maybe_unused]] const Stored<float> " + kept + "{" + left.fills + "};");
    arrays_[term.arguments[0]->variable] = {kept, left.fills, "", {}, {{kept, 4}}, ""};
  }
  return made;
}

RoundsArray RoundsArrays::define_map(const Term& term, const std::string& to) {
  if (term.types.size() > 1) text_.refuse(term.at, "a map of several results");
  RoundsArray map{to, "", "", {}, {}, ""};
  std::vector<std::string> arguments;
  for (const TermPtr& argument : term.arguments) {
    const RoundsArray from = array_of(*argument);
    arguments.push_back(from.name + "(i)");
    map.outers.insert(from.outers.begin(), from.outers.end());
    map.reads.insert(from.reads.begin(), from.reads.end());
  }
  // Values outside of the elements are computed ahead of them.
  for (const Step& step : term.function->steps) text_.values.hoist(*step.value);
  for (const TermPtr& result : term.function->results) text_.values.hoist(*result);
  text_.out.open("[[maybe_unused]] const auto " + to + " = [&]([[maybe_unused]] size_t i) HWY_ATTR -> " +
                 type_text(term.type().element));
  text_.values.write_body(*term.function, arguments);
  text_.out.close(";");
  return map;
}

RoundsArray RoundsArrays::in_memory(RoundsArray array, const Type& type, const std::string& place,
                                    const std::string& what) {
  if (!array.memory.empty() && place.empty()) return array;
  const std::string to = text_.temporary("kept");
  take_memory(type, to, place);
  fill(array, type, to + "_at", what);
  RoundsArray kept = stored(type, to);
  if (type.is_over(Extent::Kind::kElements)) kept.reads[to] = 4;
  return kept;
}

void RoundsArrays::prepare(const RoundsArray& array) {
  for (const std::string& outer : array.outers) text_.out.line(outer + ".prepare(first, count);");
}

void RoundsArrays::fill(const RoundsArray& array, const Type& type, const std::string& place, const std::string& what) {
  Writer& out = text_.out;
  text_.note(what, array, type, 4);
  if (array.outers.empty()) {
    return out.line("store(0, " + RoundsRoutine::size(type) + ", " + array.name + ", " + place + ");");
  }
  out.open("for_pieces(v.rows, v.columns, [&](size_t first, size_t count) HWY_ATTR");
  if (array.outers.count(array.name) != 0) {
    out.line(array.name + ".write(first, count, " + place + " + first);");
  } else {
    prepare(array);
    out.line("store(first, count, " + array.name + ", " + place + " + first);");
  }
  out.close(");");
}

/// The function that returns pieces of a matrix.
std::string RoundsArrays::piece(const RoundsArray& array) {
  Writer& out = text_.out;
  if (!array.memory.empty())
    return "[&](size_t, size_t first, size_t) HWY_ATTR { return " + array.memory + " + first; }";
  std::string to = text_.temporary("piece");
  std::string place = array.fills + " + first";
  if (array.fills.empty()) {
    const std::string tiles = text_.temporary("tiles");
    out.line("float* const " + tiles + " = taken<float>(kSlots * kPiece, memory);");
    place = tiles + " + slot * kPiece";
  }
  out.open("[[maybe_unused]] const auto " + to +
           " = [&]([[maybe_unused]] size_t slot, size_t first, size_t count) HWY_ATTR");
  prepare(array);
  out.line("store(first, count, " + array.name + ", " + place + ");");
  out.line("return " + place + ";");
  out.close(";");
  return to;
}

}  // namespace casync::compll
