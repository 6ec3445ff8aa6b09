// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/rounds_memory.h"

#include <variant>

#include "compll/codegen/cpu/rounds_names.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {

void RoundsMemory::write(const cpu_turns::Take& take) {
  out_.line("const " + element(take.value) + " " + name(take.value) + " = *(" + typed(take.from, take.value, "const ") +
            ");");
}

void RoundsMemory::write(const cpu_turns::Given& given) {
  const std::string to = name(given.array);
  out_.line("[[maybe_unused]] const Stored<" + element(given.array) + "> " + to + "{" +
            typed(given.at, given.array, "const ") + "};");
  pointers_[given.array] = to + ".data";
}

void RoundsMemory::write(const cpu_turns::Memory& memory) {
  const std::string type = element(memory.array), at = name(memory.array) + "_at";
  const std::string own = "taken<" + type + ">(" + RoundsNames::size(plan_.values[memory.array].type) + ", memory)";
  out_.line(type + "* const " + at + " = " + (memory.at ? typed(*memory.at, memory.array, "") : own) + ";");
  pointers_[memory.array] = at;
}

void RoundsMemory::write(const cpu_turns::Buffer& buffer) {
  const std::string to = name(buffer.value);
  out_.line("float* const " + to + " = " + (buffer.at ? RoundsNames::place(*buffer.at) : "taken<float>(v.n, memory)") +
            ";");
  pointers_[buffer.value] = to;
}

void RoundsMemory::write(const cpu_turns::Stored& stored) {
  out_.line("[[maybe_unused]] const Stored<" + element(stored.array) + "> " + name(stored.array) + "{" +
            pointers_.at(stored.buffer.value_or(stored.array)) + "};");
}

void RoundsMemory::write(const cpu_turns::Copy& copy) {
  out_.line("copy(" + pointers_.at(copy.from) + ", " + RoundsNames::size(copy.type) + ", " + address(copy.to) + ");");
}

void RoundsMemory::write(const cpu_turns::Tiles& tiles) {
  out_.line("float* const " + name(tiles.value) + " = taken<float>(kSlots * kPiece, memory);");
}

void RoundsMemory::write(const cpu_turns::MakeResult&) { out_.line("float* const made = taken<float>(v.n, memory);"); }
void RoundsMemory::write(const cpu_turns::GiveResult&) { out_.line("copy(made, v.n, t.out);"); }

std::string RoundsMemory::typed(const cpu_turns::Place& place, cpu_turns::Id id, const std::string& qualifier) const {
  const std::string type = element(id), at = RoundsNames::place(place);
  return type == "float" ? at : "reinterpret_cast<" + qualifier + type + "*>(" + at + ")";
}

std::string RoundsMemory::address(const cpu_turns::Address& address) const {
  const auto* place = std::get_if<cpu_turns::Place>(&address);
  return place != nullptr ? RoundsNames::place(*place) : pointers_.at(std::get<cpu_turns::Id>(address));
}

std::string RoundsMemory::element(cpu_turns::Id id) const { return type_text(plan_.values[id].type.element); }

}  // namespace casync::compll
