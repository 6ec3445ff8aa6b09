// SPDX-License-Identifier: Apache-2.0
//
// The memory of a whole-vector function's arrays, and the stages that make them.
#include "compll/codegen/cuda_whole_routine.h"

#include "compll/codegen/cuda_terms.h"
#include "compll/codegen/operation_text.h"

namespace casync::compll {

void CudaWholeRoutine::add(std::uint32_t stage, std::function<void()> write, std::function<void()> finish) {
  steps_.push_back({stage, std::move(write), std::move(finish), 0});
  stages_ = std::max(stages_, stage + 1);
}

void CudaWholeRoutine::add_own(std::uint32_t stage, std::function<void()> write, std::function<void()> finish,
                               std::uint32_t chunks) {
  add(stage, std::move(write), std::move(finish));
  steps_.back().piece = chunks;
}

std::string CudaWholeRoutine::place(const std::string& word, const std::string& bytes, Zeros zeros) {
  memory_.push_back({word, bytes, zeros});
  return "at." + word;
}

void CudaWholeRoutine::define_memory(const std::string& name, const std::string& type, const std::string& address) {
  out_.line("const Array<" + type + "> " + name + "{" + address + "};");
}

void CudaWholeRoutine::plan_memory(VariableId id, const std::string& address, Ready ready) {
  const ProgramVariable& variable = program_.variables[id];
  const std::string name = variable.name + "_" + std::to_string(id), type = type_text(variable.type.element);
  const bool is_array = variable.type.is_array();
  values_[id] = {ready,
                 [=, this] {
                   if (is_array) return define_memory(name, type, address);
                   out_.line("const " + type + " " + name + " = *" + address + ";");
                 },
                 name};
}

void CudaWholeRoutine::plan_input(const std::string& kind, const std::string& arguments) {
  input_ = "Input" + kind;
  input_arguments_ = arguments;
  add_own(0, [=, this] {
    if (input_.empty()) return;
    out_.line("take_input" + kind + "(" + arguments + ");");
    out_.line("__syncthreads();");
  });
}

/// Adds a first step to the first stage, which has the input's elements at hand as it takes them: `write` gets the text
/// that takes them. After the step they are in memory.
void CudaWholeRoutine::take_input_with(const std::function<void(const std::string&)>& write,
                                       std::function<void()> finish) {
  const std::string input = input_ + "(" + input_arguments_ + ", " + values_.at(routine_.gradient).name + ")";
  input_.clear();
  const std::string name = values_.at(routine_.gradient).name;
  const auto write_step = [=, this] {
    Planned& gradient = values_.at(routine_.gradient);
    const Planned in_memory = gradient;
    const std::set<std::string> before = defined_;
    gradient.define = [=, this] { out_.line("Held<float> " + name + ";"); };
    out_.open("");
    name_of_variable(routine_.gradient);
    write(input);
    out_.close();
    out_.line("__syncthreads();");
    gradient = in_memory;
    defined_ = before;
  };
  steps_.insert(steps_.begin(), {0, write_step, std::move(finish), 0});
}

void CudaWholeRoutine::plan_section(VariableId id, const Type& type, const std::string& address) {
  const std::string name = program_.variables[id].name + "_" + std::to_string(id);
  const std::string element = type_text(type.element);
  const std::string section = "Section<" + element + ", " + cuda_width(type.element) + ">{" + address + "}";
  const std::string line = type.is_array() ? "const auto " + name + " = " + section + ";"
                                           : "const " + element + " " + name + " = " + section + "(0);";
  values_[id] = {{}, [=, this] { out_.line(line); }, name, 0};
}

void CudaWholeRoutine::want_at(VariableId id, const std::string& address) { places_.emplace(made_as(id), address); }

}  // namespace casync::compll
