// SPDX-License-Identifier: Apache-2.0
//
// Operators and expressions of a turn.
#include "compll/codegen/operation_text.h"
#include "compll/codegen/rounds_routine.h"
#include "compll/lang/terms.h"

namespace casync::compll {

RoundsRoutine::Array RoundsRoutine::define(const Term& term, const std::string& to, const std::string& place) {
  const std::string type = type_text(term.type().element);
  const auto made = [&](const Type& made_type) {
    const std::string element = type_text(made_type.element);
    out_.line(element + "* const " + to +
              "_at = " + (place.empty() ? "taken<" + element + ">(" + size(made_type) + ", memory)" : place) + ";");
  };
  const auto stored = [&](const Type& made_type) {
    out_.line("[[maybe_unused]] const Stored<" + type_text(made_type.element) + "> " + to + "{" + to + "_at};");
    return Array{to, to + "_at", "", {}, {}, ""};
  };
  switch (term.op) {
    case Op::kMap: return define_map(term, to);
    case Op::kMatmul: return define_matmul(term, to, place);
    case Op::kRange:
      out_.line("[[maybe_unused]] const auto " + to + " = [&](size_t i) HWY_ATTR -> " + type +
                " { return static_cast<" + type + ">(i); };");
      return {to, "", "", {}, {}, ""};
    case Op::kSpread: {
      const Array from = settled(*term.arguments.front());
      const std::string count = size(term.arguments.front()->type());
      out_.line("[[maybe_unused]] const auto " + to + " = [&](size_t i) HWY_ATTR -> " + type + " { return picked(" +
                count + ", " + from.name + ", static_cast<uint32_t>(i / " + length(term.block) + ")); };");
      return {to, "", "", {}, {}, ""};
    }
    case Op::kBlockReduce: {
      const Term& of = *term.arguments.front();
      const Array from = settled(of);
      made(term.type());
      const std::string one = reduction(term, "count", "elements");
      out_.line("reduce_vectors(" + size(of.type()) + ", " + length(term.block) + ", " + from.name + ", " +
                size(term.type()) + ", " + to + "_at, [&](size_t count, const auto& elements) HWY_ATTR { return " +
                one + "; });");
      note("`block_reduce`", from, of.type(), 0);
      return stored(term.type());
    }
    case Op::kOrthonormalize: {
      const Array from = array_of(*term.arguments.front());
      made(term.type());
      if (from.memory.empty()) {
        fill(from, term.type(), to + "_at", "`orthonormalize`");
      } else {
        out_.line("copy(" + from.memory + ", " + size(term.type()) + ", " + to + "_at);");
      }
      out_.line("orthonormalize(" + to + "_at, " + size(term.type()) + ", " + length(term.block) + ", memory);");
      return stored(term.type());
    }
    default: break;
  }
  refuse(term.at, "`" + std::string(name_of(term.op)) + "`");
}

RoundsRoutine::Array RoundsRoutine::define_matmul(const Term& term, const std::string& to, const std::string& place) {
  const Type &of_left = term.arguments[0]->type(), &of_right = term.arguments[1]->type();
  Array left = array_of(*term.arguments[0]);
  const Array right = in_memory(array_of(*term.arguments[1]), of_right, "", "vectors");
  if (term.form == MatmulForm::kOuter) {
    left = in_memory(std::move(left), of_left, "", "vectors");
    out_.line("Outer " + to + " = outer_product(v.rows, v.columns, " + left.memory + ", " + size(of_left) + ", " +
              right.memory + ", " + size(of_right) + ", memory);");
    return {to, "", "", {to}, {}, ""};
  }
  const std::string from = piece(left);
  const bool of_rows = term.form == MatmulForm::kOfRows;
  out_.line("float* const " + to +
            "_at = " + (place.empty() ? "taken<float>(" + size(term.type()) + ", memory)" : place) + ";");
  out_.line(std::string(of_rows ? "products_of_rows" : "products_of_columns") + "(v.rows, v.columns, " + from + ", " +
            right.memory + ", " + size(of_right) + ", " + to + "_at, " + size(term.type()) +
            (of_rows ? ", memory);" : ");"));
  out_.line("[[maybe_unused]] const Stored<float> " + to + "{" + to + "_at};");
  note(of_rows ? "its rows are multiplied" : "its columns are multiplied", left, of_left, left.fills.empty() ? 0 : 4);
  if (!left.fills.empty()) {  // from here on the matrix is in memory
    const std::string kept = temporary("kept");
    out_.line("[[maybe_unused]] const Stored<float> " + kept + "{" + left.fills + "};");
    arrays_[term.arguments[0]->variable] = {kept, left.fills, "", {}, {{kept, 4}}, ""};
  }
  return {to, to + "_at", "", {}, {}, ""};
}

RoundsRoutine::Array RoundsRoutine::define_map(const Term& term, const std::string& to) {
  if (term.types.size() > 1) refuse(term.at, "a map of several results");
  Array map{to, "", "", {}, {}, ""};
  std::vector<std::string> arguments;
  for (const TermPtr& argument : term.arguments) {
    const Array from = array_of(*argument);
    arguments.push_back(from.name + "(i)");
    map.outers.insert(from.outers.begin(), from.outers.end());
    map.reads.insert(from.reads.begin(), from.reads.end());
  }
  // Values outside of the elements are computed ahead of them.
  for (const Step& step : term.function->steps) hoist(*step.value);
  for (const TermPtr& result : term.function->results) hoist(*result);
  const std::string type = type_text(term.type().element);
  out_.open("[[maybe_unused]] const auto " + to + " = [&]([[maybe_unused]] size_t i) HWY_ATTR -> " + type);
  write_body(*term.function, arguments, type);
  out_.close(";");
  return map;
}

void RoundsRoutine::write_body(const Body& body, const std::vector<std::string>& arguments, const std::string& result) {
  const auto define_value = [&](VariableId id, const std::string& value) {
    const ProgramVariable& variable = program_.variables[id];
    const std::string name = variable.name + "_" + std::to_string(id);
    out_.line("[[maybe_unused]] const " + type_text(variable.type.element) + " " + name + " = " + value + ";");
    values_[id] = name;
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) define_value(body.parameters[i], arguments[i]);
  for (const Step& step : body.steps) {
    out_.source_line(step.value->at);
    define_value(step.variables.front(), expression(*step.value));
  }
  static_cast<void>(result);
  out_.line("return " + expression(*body.results.front()) + ";");
}

std::string RoundsRoutine::reduction(const Term& term, const std::string& count, const std::string& from) {
  return reduction_text(term, count, from, [&] { return scalar(*term.arguments[1]) + ", " + function(term); });
}

/// Names a function of two elements: its lines stand ahead of the call that takes it.
std::string RoundsRoutine::function(const Term& term) {
  const Body& body = *term.function;
  const std::string type = type_text(term.arguments.front()->type().element);
  std::string to = temporary("function");
  out_.open("[[maybe_unused]] const auto " + to + " = [&]([[maybe_unused]] " + type + " a, [[maybe_unused]] " + type +
            " b) HWY_ATTR -> " + type);
  write_body(body, {"a", "b"}, type);
  out_.close(";");
  return to;
}

/// Names the reductions in a value, which are loops of their own, and arrays of which it reads single elements.
void RoundsRoutine::hoist(const Term& term) {
  if (term.op == Op::kSize) return;
  if (term.op == Op::kElement) {
    hoisted_[term.arguments[0].get()] = settled(*term.arguments[0]).name;
    return hoist(*term.arguments[1]);
  }
  for (const TermPtr& argument : term.arguments) {
    if (!argument->type().is_array()) hoist(*argument);
  }
  if (term.op != Op::kReduce) return;
  const Term& of = *term.arguments[0];
  const Array from = settled(of);
  const std::string value = reduction(term, size(of.type()), from.name), to = temporary("reduced");
  note("`reduce`", from, of.type(), 0);
  out_.line("const " + type_text(term.type().element) + " " + to + " = " + value + ";");
  hoisted_[&term] = to;
}

std::string RoundsRoutine::scalar(const Term& term) {
  hoist(term);
  return expression(term);
}

std::string RoundsRoutine::expression(const Term& term) {
  if (const auto found = hoisted_.find(&term); found != hoisted_.end()) return found->second;
  const std::string type = type_text(term.type().element);
  const auto random = [&] { return "random_bits(v.random, i, " + std::to_string(term.purpose) + ")"; };
  switch (term.op) {
    case Op::kConstant: return literal_text(term.type().element, term.number);
    case Op::kVariable: return values_.at(term.variable);
    case Op::kParameter: return "static_cast<" + type + ">(v.parameters[" + std::to_string(term.parameter) + "])";
    case Op::kRows: return "static_cast<uint32_t>(v.rows)";
    case Op::kColumns: return "static_cast<uint32_t>(v.columns)";
    case Op::kSize: return "static_cast<uint32_t>(" + size(term.arguments.front()->type()) + ")";
    case Op::kRandomBits: return random();
    case Op::kRandomUniform: return "uniform_from(" + random() + ")";
    case Op::kElement:
      return "picked(" + size(term.arguments[0]->type()) + ", " + expression(*term.arguments[0]) +
             ", static_cast<uint32_t>(" + expression(*term.arguments[1]) + "))";
    case Op::kConvert:
      return conversion_text(term.arguments[0]->type().element, term.type().element, expression(*term.arguments[0]));
    case Op::kSelect:  // evaluates only the chosen one: random numbers are expensive
      return "(" + expression(*term.arguments[0]) + " ? " + expression(*term.arguments[1]) + " : " +
             expression(*term.arguments[2]) + ")";
    default: break;
  }
  if (!is_scalar(term.op)) refuse(term.at, "`" + std::string(name_of(term.op)) + "` of this");
  std::vector<std::string> operands;
  for (const TermPtr& argument : term.arguments) operands.push_back(expression(*argument));
  return operation_text(term.op, term.arguments.back()->type().element, operands);
}

}  // namespace casync::compll
