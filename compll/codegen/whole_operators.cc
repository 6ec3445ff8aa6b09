// SPDX-License-Identifier: Apache-2.0
//
// Operators of a routine that make arrays in memory, and reductions.
#include "compll/codegen/operation_text.h"
#include "compll/codegen/routine_text.h"
#include "compll/codegen/whole_routine.h"

namespace casync::compll {

std::string WholeRoutine::in_parameters(ParameterId id) { return "v.parameters[" + std::to_string(id) + "]"; }

std::string WholeRoutine::block_size(const Constant& constant) {
  return constant.parameter ? "static_cast<size_t>(" + in_parameters(*constant.parameter) + ")"
                            : "size_t{" + std::to_string(constant.value) + "}";
}

std::string WholeRoutine::taken(const Term& term) {
  const Term& of = *term.arguments.front();
  const std::string from = array(of), count = size(of.type()), type = type_text(of.type().element);
  const std::string key = "[&](size_t i) HWY_ATTR { return key_of(" + from + "(i)); }";
  switch (term.op) {
    case Op::kLargest: return "largest(" + count + ", " + size(term.type()) + ", " + key + ", memory)";
    case Op::kWhere: return "where(" + count + ", " + size(term.type()) + ", " + from + ", memory)";
    case Op::kSort: {
      const std::string less =
          term.function ? function(term) : "[](" + type + " a, " + type + " b) HWY_ATTR { return a < b; }";
      return "sorted<" + type + ">(" + count + ", " + from + ", memory, " + less + ")";
    }
    case Op::kHistogram: return "histogram(" + count + ", " + from + ", " + size(term.type()) + ", memory)";
    case Op::kHadamard: return "hadamard(" + count + ", " + from + ", " + block_size(term.block) + ", memory)";
    case Op::kSpread: return "spread<" + type + ">(n, " + block_size(term.block) + ", " + from + ", memory)";
    case Op::kBlockReduce: {
      const std::string one = reduction(term, "count", "elements");
      return "of_blocks<" + type_text(term.type().element) + ">(n, " + block_size(term.block) + ", " + from +
             ", memory, [&](size_t count, const auto& elements) HWY_ATTR { return " + one + "; })";
    }
    default: break;
  }
  refuse(term.at, "`" + std::string(name_of(term.op)) + "`");
}

std::string WholeRoutine::reduction(const Term& term, const std::string& count, const std::string& from) {
  const ScalarType element = term.arguments.front()->type().element;
  const std::string type = type_text(element), to_all = "(" + count + ", " + from;
  switch (term.reducer) {
    case Reducer::kSum:
      return element.is_float() ? "sum" + to_all + ")"
                                : "integer_sum<" + type_text(term.type().element) + ">" + to_all + ")";
    case Reducer::kMin:
    case Reducer::kMax: {
      const bool least = term.reducer == Reducer::kMin;
      const double most = static_cast<double>(least ? most_of(element) : least_of(element));
      const std::string limit = "std::numeric_limits<" + type + ">::infinity()";
      const std::string identity = element.is_float() ? (least ? limit : "-" + limit) : literal_text(element, most);
      return (least ? "least<" : "greatest<") + type + ">" + to_all + ", " + identity + ")";
    }
    case Reducer::kMagnitude: return "magnitude" + to_all + ")";
    case Reducer::kCount: return "count_of" + to_all + ")";
    case Reducer::kUser:
      return "folded<" + type + ">" + to_all + ", " + expression(*term.arguments[1]) + ", " + function(term) + ")";
  }
  return "";
}

/// A function of two elements has a name of its own: its lines stand before what it is given to.
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
