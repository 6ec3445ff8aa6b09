// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/whole_input.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compll/codegen/cuda/terms.h"
#include "compll/codegen/cuda/whole_routine.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {

void CudaInput::plan_input(const std::string& kind, const std::string& arguments) {
  input_ = "Input" + kind;
  input_arguments_ = arguments;
  text_.stages.add_own(0, [=, this] {
    if (input_.empty()) return;
    text_.out.line("take_input" + kind + "(" + arguments + ");");
    text_.out.line("__syncthreads();");
  });
}

/// Adds a first step to the first stage, which has the input's elements at hand as it takes them: `write` gets the text
/// that takes them. After the step they are in memory.
void CudaInput::take_input_with(const std::function<void(const std::string&)>& write, std::function<void()> finish) {
  const std::string input =
      input_ + "(" + input_arguments_ + ", " + text_.plan.value(text_.routine.gradient).name + ")";
  input_.clear();
  is_searched_ = true;
  const std::string name = text_.plan.value(text_.routine.gradient).name;
  const auto write_step = [=, this] {
    CudaPlanned& gradient = text_.plan.value(text_.routine.gradient);
    const CudaPlanned in_memory = gradient;
    const std::set<std::string> before = text_.plan.defined();
    gradient.define = [=, this] { text_.out.line("Held<float> " + name + ";"); };
    text_.out.open("");
    text_.plan.name_of_variable(text_.routine.gradient);
    write(input);
    text_.out.close();
    text_.out.line("__syncthreads();");
    gradient = in_memory;
    text_.plan.defined() = before;
  };
  text_.stages.add_first(write_step, std::move(finish));
}

bool CudaInput::is_made_of_input(const Term& term) const {
  if (term.op == Op::kVariable) {
    if (term.variable == text_.routine.gradient) return true;
    const CudaPlanned* planned = text_.plan.find(term.variable);
    if (planned == nullptr || !planned->computed) return false;
    for (const Step* step : text_.steps) {
      if (step->variables.front() == term.variable) return is_made_of_input(*step->value);
    }
    return false;
  }
  if (term.op == Op::kRange) return true;
  if (term.op != Op::kMap) return false;
  bool reads_elsewhere = false;
  for_each_term(*term.function, [&](const Term& each) { reads_elsewhere |= each.op == Op::kElement; });
  return !reads_elsewhere && std::all_of(term.arguments.begin(), term.arguments.end(),
                                         [&](const TermPtr& each) { return is_made_of_input(*each); });
}

bool CudaInput::is_reduced_with_input(const Term& term, std::uint32_t stage) const {
  const Term& of = *term.arguments[0];
  return is_searched_ && stage == 0 && CudaNames::size(of.type()) == "n" && is_made_of_input(of) &&
         !text_.reductions.has_condition(term);
}

/// Returns the name of a function that computes the key and feeds the reducers.
std::string CudaInput::begin_reductions_with_input(const std::string& key) {
  if (with_input_.empty()) return key;
  std::vector<std::string> arrays;
  for (const WithInput& each : with_input_) {
    arrays.push_back(text_.plan.array(*each.of));
    text_.out.line(each.reducer + " " + each.name + ";");
  }
  text_.out.open("const auto " + key + "_too = [&](uint64_t i)");
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    text_.out.line(with_input_[i].name + ".take(" + arrays[i] + "(i));");
  }
  text_.out.line("return " + key + "(i);");
  text_.out.close(";");
  return key + "_too";
}

void CudaInput::end_reductions_with_input() {
  for (const WithInput& each : with_input_) text_.out.line("join_tensor(" + each.name + ", " + each.slot + ");");
}

}  // namespace casync::compll
