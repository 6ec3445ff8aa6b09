// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/rounds_items.h"

#include <algorithm>

#include "compll/codegen/cpu/rounds_names.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {

void RoundsItems::write() {
  for (const cpu_turns::Item& item : plan_.items) std::visit([&](const auto& each) { write(each); }, item);
}

std::string RoundsItems::element(cpu_turns::Id id) const { return type_text(plan_.values[id].type.element); }

std::string RoundsItems::typed(const cpu_turns::Place& place, cpu_turns::Id id, const std::string& qualifier) const {
  const std::string type = element(id), at = RoundsNames::place(place);
  return type == "float" ? at : "reinterpret_cast<" + qualifier + type + "*>(" + at + ")";
}

std::string RoundsItems::address(const cpu_turns::Address& address) const {
  const auto* place = std::get_if<cpu_turns::Place>(&address);
  return place != nullptr ? RoundsNames::place(*place) : pointers_.at(std::get<cpu_turns::Id>(address));
}

void RoundsItems::write(const cpu_turns::Take& take) {
  out_.line("const " + element(take.value) + " " + name(take.value) + " = *(" + typed(take.from, take.value, "const ") +
            ");");
}

void RoundsItems::write(const cpu_turns::Given& given) {
  const std::string to = name(given.array);
  out_.line("[[maybe_unused]] const Stored<" + element(given.array) + "> " + to + "{" +
            typed(given.at, given.array, "const ") + "};");
  pointers_[given.array] = to + ".data";
}

void RoundsItems::write(const cpu_turns::Single& single) {
  const std::string to = name(single.value);
  out_.line("const " + type_text(single.term->type().element) + " " + to + " = " + values_.expression(*single.term) +
            ";");
  if (single.to) out_.line("*(" + typed(*single.to, single.value, "") + ") = " + to + ";");
}

void RoundsItems::write(const cpu_turns::Map& map) {
  std::vector<std::string> arguments;
  for (const cpu_turns::Id from : map.arguments) arguments.push_back(name(from) + "(i)");
  out_.open("[[maybe_unused]] const auto " + name(map.array) + " = [&]([[maybe_unused]] size_t i) HWY_ATTR -> " +
            type_text(map.term->type().element));
  values_.write_body(*map.term->function, arguments);
  out_.close(";");
}

void RoundsItems::write(const cpu_turns::Range& range) {
  const std::string type = element(range.array);
  out_.line("[[maybe_unused]] const auto " + name(range.array) + " = [&](size_t i) HWY_ATTR -> " + type +
            " { return static_cast<" + type + ">(i); };");
}

void RoundsItems::write(const cpu_turns::Spread& spread) {
  const Term& term = *spread.term;
  out_.line("[[maybe_unused]] const auto " + name(spread.array) + " = [&](size_t i) HWY_ATTR -> " +
            type_text(term.type().element) + " { return picked(" + RoundsNames::size(term.arguments.front()->type()) +
            ", " + name(spread.from) + ", static_cast<uint32_t>(i / " + RoundsNames::length(term.block) + ")); };");
}

void RoundsItems::write(const cpu_turns::Outer& outer) {
  const Term& term = *outer.term;
  out_.line("Outer " + name(outer.array) + " = outer_product(v.rows, v.columns, " + pointers_.at(outer.left) + ", " +
            RoundsNames::size(term.arguments[0]->type()) + ", " + pointers_.at(outer.right) + ", " +
            RoundsNames::size(term.arguments[1]->type()) + ", memory);");
}

void RoundsItems::write(const cpu_turns::Memory& memory) {
  const std::string type = element(memory.array), at = name(memory.array) + "_at";
  const std::string own = "taken<" + type + ">(" + RoundsNames::size(plan_.values[memory.array].type) + ", memory)";
  out_.line(type + "* const " + at + " = " + (memory.at ? typed(*memory.at, memory.array, "") : own) + ";");
  pointers_[memory.array] = at;
}

void RoundsItems::write(const cpu_turns::Buffer& buffer) {
  const std::string to = name(buffer.value);
  out_.line("float* const " + to + " = " + (buffer.at ? RoundsNames::place(*buffer.at) : "taken<float>(v.n, memory)") +
            ";");
  pointers_[buffer.value] = to;
}

void RoundsItems::write(const cpu_turns::Stored& stored) {
  out_.line("[[maybe_unused]] const Stored<" + element(stored.array) + "> " + name(stored.array) + "{" +
            pointers_.at(stored.buffer.value_or(stored.array)) + "};");
}

void RoundsItems::prepare(const std::vector<cpu_turns::Id>& outers) {
  for (const cpu_turns::Id outer : outers) out_.line(name(outer) + ".prepare(first, count);");
}

void RoundsItems::write(const cpu_turns::Fill& fill) {
  const std::string from = name(fill.from), to = address(fill.to);
  if (fill.outers.empty()) {
    return out_.line("store(0, " + RoundsNames::size(fill.type) + ", " + from + ", " + to + ");");
  }
  out_.open("for_pieces(v.rows, v.columns, [&](size_t first, size_t count) HWY_ATTR");
  if (std::find(fill.outers.begin(), fill.outers.end(), fill.from) != fill.outers.end()) {
    out_.line(from + ".write(first, count, " + to + " + first);");
  } else {
    prepare(fill.outers);
    out_.line("store(first, count, " + from + ", " + to + " + first);");
  }
  out_.close(");");
}

void RoundsItems::write(const cpu_turns::Copy& copy) {
  out_.line("copy(" + pointers_.at(copy.from) + ", " + RoundsNames::size(copy.type) + ", " + address(copy.to) + ");");
}

void RoundsItems::write(const cpu_turns::Function& function) {
  const std::string type = type_text(function.term->arguments.front()->type().element);
  out_.open("[[maybe_unused]] const auto " + name(function.name) + " = [&]([[maybe_unused]] " + type +
            " a, [[maybe_unused]] " + type + " b) HWY_ATTR -> " + type);
  values_.write_body(*function.term->function, {"a", "b"});
  out_.close(";");
}

void RoundsItems::write(const cpu_turns::Reduce& reduce) {
  const Term& term = *reduce.term;
  out_.line("const " + type_text(term.type().element) + " " + name(reduce.value) + " = " +
            values_.reduction(term, RoundsNames::size(term.arguments[0]->type()), name(reduce.from), reduce.function) +
            ";");
}

void RoundsItems::write(const cpu_turns::ReduceBlocks& reduce) {
  const Term& term = *reduce.term;
  out_.line("reduce_vectors(" + RoundsNames::size(term.arguments.front()->type()) + ", " +
            RoundsNames::length(term.block) + ", " + name(reduce.from) + ", " + RoundsNames::size(term.type()) + ", " +
            pointers_.at(reduce.array) + ", [&](size_t count, const auto& elements) HWY_ATTR { return " +
            values_.reduction(term, "count", "elements", reduce.function) + "; });");
}

void RoundsItems::write(const cpu_turns::Orthonormalize& orthonormalize) {
  out_.line("orthonormalize(" + pointers_.at(orthonormalize.array) + ", " +
            RoundsNames::size(orthonormalize.term->type()) + ", " + RoundsNames::length(orthonormalize.term->block) +
            ", memory);");
}

void RoundsItems::write(const cpu_turns::Tiles& tiles) {
  out_.line("float* const " + name(tiles.value) + " = taken<float>(kSlots * kPiece, memory);");
}

void RoundsItems::write(const cpu_turns::Piece& piece) {
  const std::string place = name(piece.to) + (piece.is_buffer ? " + first" : " + slot * kPiece");
  out_.open("[[maybe_unused]] const auto " + name(piece.value) +
            " = [&]([[maybe_unused]] size_t slot, size_t first, size_t count) HWY_ATTR");
  prepare(piece.outers);
  out_.line("store(first, count, " + name(piece.from) + ", " + place + ");");
  out_.line("return " + place + ";");
  out_.close(";");
}

void RoundsItems::write(const cpu_turns::Product& product) {
  const Term& term = *product.term;
  const bool of_rows = term.form == MatmulForm::kOfRows;
  const std::string left = product.by_pieces ? name(product.left)
                                             : "[&](size_t, size_t first, size_t) HWY_ATTR { return " +
                                                   pointers_.at(product.left) + " + first; }";
  out_.line(std::string(of_rows ? "products_of_rows" : "products_of_columns") + "(v.rows, v.columns, " + left + ", " +
            pointers_.at(product.right) + ", " + RoundsNames::size(term.arguments[1]->type()) + ", " +
            pointers_.at(product.array) + ", " + RoundsNames::size(term.type()) + (of_rows ? ", memory);" : ");"));
}

void RoundsItems::write(const cpu_turns::MakeResult&) { out_.line("float* const made = taken<float>(v.n, memory);"); }
void RoundsItems::write(const cpu_turns::GiveResult&) { out_.line("copy(made, v.n, t.out);"); }

}  // namespace casync::compll
