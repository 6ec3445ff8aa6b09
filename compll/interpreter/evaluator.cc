// SPDX-License-Identifier: Apache-2.0
#include "compll/interpreter/evaluator.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/check.h"
#include "compll/interpreter/reductions.h"
#include "compll/interpreter/selection.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

/// Number of elements that a body is applied to at once: each term is looked at once for all of them.
constexpr Elements kTermLanes = 32;

/// Room for an operand of some lanes. It is not cleared, which would take longer than most operations.
union Room {
  Room() {}  // NOLINT(modernize-use-equals-default)
  std::span<Scalar> first(std::size_t count) { return std::span(lanes).first(count); }

  std::array<Scalar, kTermLanes> lanes;
};

/// Returns true if a body computes whole arrays for each element.
bool needs_arrays(const Body& body) {
  bool found = false;
  for_each_term(body, [&](const Term& term) {
    const bool of_computed = term.op == Op::kElement && term.arguments.front()->op != Op::kVariable;
    found = found || of_computed || array_op(term.op);
  });
  return found;
}

}  // namespace

Evaluator::Evaluator(const Program& program, std::span<const double> parameters)
    : program_(program), parameters_(parameters.begin(), parameters.end()), values_(program.variables.size()) {
  CASYNC_CHECK(parameters.size() == program.parameters.size());
}

std::size_t Evaluator::constant(const Constant& constant) const {
  if (constant.dimension) return shape_.of(*constant.dimension);
  return constant.parameter ? static_cast<std::size_t>(parameters_[*constant.parameter]) : constant.value;
}

void Evaluator::run(const Step& step) {
  std::vector<Values> values = evaluate_all(*step.value);
  for (std::size_t i = 0; i < values.size(); ++i) assign(step.variables[i], std::move(values[i]));
}

std::vector<Values> Evaluator::evaluate_all(const Term& term) {
  if (term.op == Op::kMap) return map(term);
  std::vector<Values> one;
  one.push_back(evaluate(term));
  return one;
}

Values Evaluator::evaluate(const Term& term) {
  if (term.op == Op::kVariable) return values_[term.variable];
  const std::optional<ArrayOp> op = array_op(term.op);
  return op ? evaluate(term, *op) : Values{element(term)};
}

Values Evaluator::evaluate(const Term& term, ArrayOp op) {
  switch (op) {
    case ArrayOp::kMap: return std::move(map(term).front());
    case ArrayOp::kReduce: {
      const ArrayCall call = call_of(term);
      return {reduced(call, call.arguments.front())};
    }
    case ArrayOp::kKthLargest: {
      const ArrayCall call = call_of(term);
      return {kth_largest(call.arguments[0], call.types[0], call.arguments[1].front().as_uint())};
    }
    case ArrayOp::kExchange: break;  // a step of its own: `synchronize` takes the routine apart there
#define COMPLL_ARRAY(id, word, ...) \
  case ArrayOp::k##id: {            \
    return word(call_of(term));     \
  }
#include "compll/lang/operators.def"
  }
  CASYNC_CHECK(false);
  return {};
}

ArrayCall Evaluator::call_of(const Term& term) {
  ArrayCall call;
  for (const TermPtr& argument : term.arguments) {
    call.arguments.push_back(evaluate(*argument));
    call.types.push_back(argument->type().element);
  }
  call.count = count(term.type());
  call.type = term.type().element;
  call.block = constant(term.block);
  call.shape = shape_;
  call.form = term.form;
  call.reducer = term.reducer;
  if (term.function) {
    call.apply = [&](std::span<Scalar> into, std::span<const Scalar> with) { apply(*term.function, into, with); };
  }
  return call;
}

std::vector<Values> Evaluator::map(const Term& term) {
  std::vector<Values> arrays;
  for (const TermPtr& argument : term.arguments) arrays.push_back(evaluate(*argument));
  const Elements n = arrays.front().size();
  std::vector<Values> results(term.types.size(), Values(n));
  const Elements most = needs_arrays(*term.function) ? 1 : kTermLanes;
  for (Elements first = 0; first < n; first += most) {
    const Elements lanes = std::min(most, n - first);
    index_ = first;
    std::vector<std::span<const Scalar>> arguments;
    for (const Values& array : arrays) arguments.push_back(std::span(array).subspan(first, lanes));
    begin_body(*term.function, arguments);
    for (std::size_t r = 0; r < results.size(); ++r) {
      elements(*term.function->results[r], std::span(results[r]).subspan(first, lanes));
    }
  }
  return results;
}

void Evaluator::begin_body(const Body& body, std::span<const std::span<const Scalar>> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    values_[body.parameters[i]].assign(arguments[i].begin(), arguments[i].end());
  }
  for (const Step& step : body.steps) {
    Values& values = values_[step.variables.front()];
    values.resize(arguments.front().size());
    elements(*step.value, values);
  }
}

void Evaluator::apply(const Body& body, std::span<Scalar> into, std::span<const Scalar> with) {
  const Elements most = into.size() > 1 && needs_arrays(body) ? 1 : kTermLanes;
  for (Elements first = 0; first < into.size(); first += most) {
    const Elements lanes = std::min(most, into.size() - first);
    begin_body(body, std::array<std::span<const Scalar>, 2>{into.subspan(first, lanes), with.subspan(first, lanes)});
    elements(*body.results.front(), into.subspan(first, lanes));
  }
}

Scalar Evaluator::element(const Term& term) {
  Scalar one;
  elements(term, {&one, 1});
  return one;
}

void Evaluator::elements(const Term& term, std::span<Scalar> out) {
  const auto fill = [&](Scalar value) { std::fill(out.begin(), out.end(), value); };
  switch (term.op) {
    case Op::kConstant: return fill(Scalar::of(term.type().element, term.number));
    case Op::kParameter: return fill(Scalar::of(term.type().element, parameters_[term.parameter]));
    case Op::kVariable: {
      const Values& values = values_[term.variable];  // one from outside of a body, or one for each lane
      if (values.size() == 1) return fill(values.front());
      std::copy_n(values.begin(), out.size(), out.begin());
      return;
    }
    case Op::kRows: return fill(Scalar::of_uint(static_cast<std::uint32_t>(shape_.rows)));
    case Op::kColumns: return fill(Scalar::of_uint(static_cast<std::uint32_t>(shape_.columns)));
    case Op::kSize: return fill(Scalar::of_uint(static_cast<std::uint32_t>(count(term.arguments.front()->type()))));
    case Op::kElement: {
      const Term& array = *term.arguments.front();
      const Values computed_here = array.op == Op::kVariable ? Values() : evaluate(array);
      const Values& values = array.op == Op::kVariable ? values_[array.variable] : computed_here;
      elements(*term.arguments[1], out);
      for (Scalar& each : out) each = each.as_uint() < values.size() ? values[each.as_uint()] : Scalar();
      return;
    }
    case Op::kConvert:
      elements(*term.arguments.front(), out);
      return convert(out, term.arguments.front()->type().element, term.type().element);
    case Op::kSelect: {
      Room memory_of_holds, memory_of_otherwise;
      const std::span<Scalar> holds = memory_of_holds.first(out.size()),
                              otherwise = memory_of_otherwise.first(out.size());
      elements(*term.arguments[0], holds);
      elements(*term.arguments[1], out);
      elements(*term.arguments[2], otherwise);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = holds[i].as_bool() ? out[i] : otherwise[i];
      return;
    }
    case Op::kRandomBits:
    case Op::kRandomUniform:
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::uint32_t bits = random_bits(stream_, index_ + i, term.purpose);
        out[i] = term.op == Op::kRandomBits ? Scalar::of_uint(bits) : Scalar::of_float(uniform_from(bits));
      }
      return;
    default: break;
  }
  if (const std::optional<ArrayOp> op = array_op(term.op)) return fill(evaluate(term, *op).front());
  const ScalarType type = term.arguments.front()->type().element;
  elements(*term.arguments.front(), out);
  if (term.arguments.size() == 1) return compute(term.op, type, out, out);
  Room room;
  const std::span<Scalar> second = room.first(out.size());
  elements(*term.arguments[1], second);
  compute(term.op, type, out, second);
}

}  // namespace casync::compll
