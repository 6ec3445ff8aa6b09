// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/vector_definitions.h"

#include "compll/codegen/cpu/vector_names.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {

std::string state_memory(std::size_t state) { return "state_memory(n, states, " + std::to_string(state) + ", memory)"; }

std::string memory_of(const VectorValues& values, const cpu_vector::Copy& copy) {
  if (copy.scatter) return values.name(*copy.scatter) + "_at";
  return values.name(copy.from) + "_then" + std::to_string(*copy.state);  // several states may become one array
}

void VectorDefinitions::write(const cpu_vector::Input& input) {
  out_.line("const Gradient<" + std::to_string(input.loop) + "> " + name(input.array) +
            "{source, added, added == nullptr ? Write::kPlain : mode_of(added, n)};");
  out_.line("Magnitude finite;");
}

void VectorDefinitions::write(const cpu_vector::Given& given) {
  const std::string place = given.state ? "states.in + " + std::to_string(*given.state) + " * states.stride" : "values";
  out_.line("[[maybe_unused]] const Array<float> " + name(given.array) + "{" + place + "};");
}

void VectorDefinitions::write(const cpu_vector::Received& received) {
  const Type& type = values_.type(received.value);
  const std::string to = name(received.value), element = type_text(type.element);
  const std::string section =
      (type.element == kTritType ? "TritSection"
                                 : "Section<" + element + ", " + std::to_string(type.element.bits) + ">") +
      "{sections[" + std::to_string(received.section) + "]}";
  out_.line("[[maybe_unused]] const " +
            (type.is_array() ? "auto " + to + " = " + section : element + " " + to + " = " + section + "(size_t{0})") +
            ";");
}

void VectorDefinitions::write(const cpu_vector::Map& map) {
  const Term& term = *map.term;
  std::vector<std::string> arguments;
  for (const std::optional<cpu_vector::Id>& from : map.arguments) {
    arguments.push_back(from ? name(*from) + "(i)" : "");
  }
  for (const std::uint32_t purpose : map.draws) {
    const std::string number = std::to_string(purpose);
    out_.line("const RandomArray random" + number + "(v.random, " + number + ");");
  }
  std::string result = type_text(term.type().element);
  const bool rows = term.types.size() > 1;
  if (rows) {
    result = "Row<" + result;
    for (std::size_t i = 1; i < term.types.size(); ++i) result += ", " + type_text(term.types[i].element);
    result += ">";
  }
  if (map.sixteen) {
    out_.open("const auto " + name(map.array) + " = [&]([[maybe_unused]] auto i) " +
              (map.called ? "HWY_ATTR __attribute__((noinline))" : "COMPLL_INLINE"));
  } else {
    out_.open("const auto " + name(map.array) + " = " + (rows ? "" : "one_by_one<" + result + ">(") +
              "[&]([[maybe_unused]] size_t i) HWY_ATTR -> " + result);
  }
  values_.write_body(*term.function, arguments, map.sixteen);
  out_.close(map.sixteen || rows ? ";" : ");");
}

void VectorDefinitions::write(const cpu_vector::Part& part) {
  const std::string type = values_.element(part.array);
  const std::string value = "part<" + std::to_string(part.result) + ">(" + name(part.all) + "(i))";
  out_.line(part.sixteen ? "const auto " + name(part.array) + " = [&](auto i) COMPLL_INLINE { return " + value + "; };"
                         : "const auto " + name(part.array) + " = one_by_one<" + type + ">([&](size_t i) HWY_ATTR -> " +
                               type + " { return " + value + "; });");
}

void VectorDefinitions::write(const cpu_vector::Range& range) {
  out_.line("const auto " + name(range.array) + " = [&](auto i) COMPLL_INLINE { return index_of<" +
            values_.element(range.array) + ">(i); };");
}

void VectorDefinitions::write(const cpu_vector::Spread& spread) {
  const std::string from = name(spread.from);
  out_.line("const Spread<" + values_.element(spread.array) + ", decltype(" + from + ")> " + name(spread.array) + "{" +
            from + ", " + VectorNames::block_size(spread.block) + "};");
}

void VectorDefinitions::write(const cpu_vector::Gather& gather) {
  const std::string type = values_.element(gather.array);
  const std::string from =
      gather.is_copy ? "Array<" + values_.element(gather.from) + ">{" + name(gather.from) + "_at}" : name(gather.from);
  out_.line("[[maybe_unused]] const auto " + name(gather.array) + " = gathered<" + type + ">(" +
            values_.size(gather.array) + ", " + name(gather.places) + ", " + values_.size(gather.from) + ", " + from +
            ", memory);");
}

void VectorDefinitions::write(const cpu_vector::Keep& keep) {
  const std::string element = values_.element(keep.array), count = values_.size(keep.array);
  if (!values_.is_of_all(keep.array)) {
    return out_.line("[[maybe_unused]] const auto " + name(keep.array) + " = kept<" + element + ">(" + count + ", " +
                     name(keep.from) + ", memory);");
  }
  out_.line("const auto " + name(keep.array) + " = kept_in(taken<" + element + ">(" + count + ", memory), " +
            name(keep.from) + ");");
}

void VectorDefinitions::write(const cpu_vector::Copy& copy) {
  const std::string type = copy.scatter ? values_.element(*copy.scatter) : "float", at = memory_of(values_, copy);
  const std::string place = copy.state ? state_memory(*copy.state) : "taken<" + type + ">(n, memory)";
  out_.line(type + "* const " + at + " = " + place + ";");
  if (type == "float") out_.line("const Write " + at + "_mode = mode_of(" + at + ", n);");
}

void VectorDefinitions::write(const cpu_vector::BlockMemory& memory) {
  const std::string type = values_.element(memory.array), to = name(memory.array);
  out_.line(type + "* const " + to + "_at = taken<" + type + ">(" + values_.size(memory.array) + ", memory);");
  out_.line("[[maybe_unused]] const Array<" + type + "> " + to + "{" + to + "_at};");
}

void VectorDefinitions::write(const cpu_vector::RotatedMemory& memory) {
  const std::string to = name(memory.array);
  out_.line("float* const " + to + "_at = taken<float>(" + values_.size(memory.array) + ", memory);");
  out_.line("const Array<float> " + to + "{" + to + "_at};");
}

void VectorDefinitions::write(const cpu_vector::StateMemory& memory) {
  out_.line("float* const state" + std::to_string(memory.state) + " = " + state_memory(memory.state) + ";");
}

}  // namespace casync::compll
