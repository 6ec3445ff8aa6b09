// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/term_lowering.h"

#include <utility>

namespace casync::compll {
namespace {

/// Returns true for a conversion that changes no index of an element: these are below 2^31.
bool keeps_index(const Graph& graph, const Value& value) {
  if (value.kind != Value::Kind::kCompute || value.op != Op::kConvert) return false;
  const auto is_wide = [](ScalarType type) { return type == kIntType || type == kUintType; };
  return is_wide(value.type) && is_wide(graph[value.arguments.front()].type);
}

}  // namespace

void refuse(Diagnostics& diagnostics, Span at, const std::string& what) {
  diagnostics.add(at, what + ", which cannot be taken apart into tiles");
  throw CannotLower();
}

Domain Domains::domain_of(const Type& type, Span at) {
  if (!type.extent) return Domain::kTensor;
  if (type.extent->kind == Extent::Kind::kElements) return Domain::kElement;
  if (type.extent->kind == Extent::Kind::kFixed) refuse(diagnostics_, at, "an array of a fixed size");
  if (type.extent->kind == Extent::Kind::kSized) refuse(diagnostics_, at, "an array of a computed size");
  use_block(type.extent->count, at);
  return Domain::kBlock;
}

void Domains::use_block(const Constant& block, Span at) {
  if (block_ && *block_ != block) refuse(diagnostics_, at, "a second size of blocks");
  block_ = block;
}

void TermLowering::bind(VariableId variable, ValueId value) {
  values_[variable] = value;
  graph_.name(value, program_.variables[variable].name);
}

void TermLowering::run(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    const std::vector<ValueId> values = all_of(*step.value);
    for (std::size_t i = 0; i < values.size(); ++i) bind(step.variables[i], values[i]);
  }
}

std::vector<ValueId> TermLowering::all_of(const Term& term) {
  switch (operation_of(term.op).lowered) {
    case GraphForm::kConstant: return {graph_.constant(term.type().element, term.number, term.at)};
    case GraphForm::kVariable: return {variable(term)};
    case GraphForm::kParameter: return {parameter(term)};
    case GraphForm::kSize: return {count(term)};
    case GraphForm::kElement: return {element(term)};
    case GraphForm::kCompute: return {compute(term)};
    case GraphForm::kRandom: return {random(term)};
    case GraphForm::kMap: return map(term);
    case GraphForm::kReduce: return {reduce(term)};
    case GraphForm::kSpread: return {spread(term)};
    case GraphForm::kIndex: return {index(domains_.domain_of(term.type(), term.at), term)};
    case GraphForm::kTransform: return {transform(term)};
    case GraphForm::kNone: break;
  }
  refuse(diagnostics_, term.at, "`" + std::string(name_of(term.op)) + "`");
}

ValueId TermLowering::compute(const Term& term) {
  std::vector<ValueId> arguments;
  for (const TermPtr& argument : term.arguments) arguments.push_back(value_of(*argument));
  return graph_.compute(term.op, term.type().element, std::move(arguments), term.at);
}

ValueId TermLowering::variable(const Term& term) {
  if (!values_[term.variable])
    refuse(diagnostics_, term.at, "a reduction by a function that looks at variables outside of it");
  return *values_[term.variable];
}

ValueId TermLowering::parameter(const Term& term) {
  const ProgramParameter& parameter = program_.parameters[term.parameter];
  if (parameter.fixed) return graph_.constant(term.type().element, parameter.initial, term.at);
  Value value;
  value.kind = Value::Kind::kParameter;
  value.type = term.type().element;
  value.parameter = term.parameter;
  value.at = term.at;
  return graph_.add(std::move(value));
}

ValueId TermLowering::index(Domain domain, const Term& term) {
  Value value;
  value.kind = Value::Kind::kIndex;
  value.domain = domain;
  value.type = term.type().element;
  value.at = term.at;
  return graph_.add(std::move(value));
}

ValueId TermLowering::count(const Term& term) {
  Value value;
  value.kind = Value::Kind::kCount;
  value.type = kUintType;
  value.over = domains_.domain_of(term.arguments.front()->type(), term.at);
  value.at = term.at;
  return graph_.add(std::move(value));
}

std::vector<ValueId> TermLowering::map(const Term& term) {
  const Body& body = *term.function;
  for (std::size_t i = 0; i < term.arguments.size(); ++i) bind(body.parameters[i], value_of(*term.arguments[i]));
  const Domain around = std::exchange(domain_, domains_.domain_of(term.type(), term.at));
  run(body.steps);
  std::vector<ValueId> results;
  for (const TermPtr& result : body.results) results.push_back(value_of(*result));
  domain_ = around;
  return results;
}

ValueId TermLowering::reduce(const Term& term) {
  Value value;
  const bool blocks = term.op == Op::kBlockReduce;
  value.kind = blocks ? Value::Kind::kBlockReduce : Value::Kind::kReduce;
  value.over = domains_.domain_of(term.arguments.front()->type(), term.at);
  value.domain = blocks ? Domain::kBlock : Domain::kTensor;
  if (blocks) domains_.use_block(term.block, term.at);
  value.type = term.type().element;
  value.reducer = term.reducer;
  value.at = term.at;
  for (const TermPtr& argument : term.arguments) value.arguments.push_back(value_of(*argument));
  if (term.reducer == Reducer::kUser) value.function = function(*term.function, value.type);
  return graph_.add(std::move(value));
}

std::uint32_t TermLowering::function(const Body& body, ScalarType type) {
  ReducerFunction made;
  TermLowering inner(program_, made.graph, domains_, diagnostics_);
  for (std::uint32_t i = 0; i < 2; ++i) {
    Value argument;
    argument.kind = Value::Kind::kInput;
    argument.domain = Domain::kElement;
    argument.type = type;
    argument.section = i;  // the argument's index: 0 or 1
    inner.bind(body.parameters[i], made.graph.add(std::move(argument)));
  }
  inner.run(body.steps);
  made.result = inner.value_of(*body.results.front());
  for (const Value& value : made.graph.values()) {
    const bool own = value.kind == Value::Kind::kInput || value.kind == Value::Kind::kConstant ||
                     (value.kind == Value::Kind::kCompute && !value.arguments.empty());
    if (!own) refuse(diagnostics_, value.at, "a reduction by a function of more than its two elements");
  }
  return graph_.add(std::move(made));
}

ValueId TermLowering::spread(const Term& term) {
  domains_.use_block(term.block, term.at);
  Value value;
  value.kind = Value::Kind::kSpread;
  value.domain = Domain::kElement;
  value.type = term.type().element;
  value.arguments = {value_of(*term.arguments.front())};
  value.at = term.at;
  if (graph_[value.arguments.front()].domain == Domain::kTensor) return value.arguments.front();
  return graph_.add(std::move(value));
}

ValueId TermLowering::transform(const Term& term) {
  Constant size = term.block;
  if (size.parameter && program_.parameters[*size.parameter].fixed) {
    size = {static_cast<std::uint32_t>(program_.parameters[*size.parameter].initial), {}, {}};
  }
  if ((size.parameter ? program_.parameters[*size.parameter].most : size.value) > kMostRotated) {
    refuse(diagnostics_, term.at, "`hadamard` of more than " + std::to_string(kMostRotated) + " elements");
  }
  if (domains_.domain_of(term.type(), term.at) != Domain::kElement)
    refuse(diagnostics_, term.at, "`hadamard` of what blocks have");
  Value value;
  value.kind = Value::Kind::kTransform;
  value.domain = Domain::kElement;
  value.type = kFloatType;
  value.rotated = size;
  value.arguments = {value_of(*term.arguments.front())};
  value.at = term.at;
  return graph_.add(std::move(value));
}

/// x[i] for the element i itself. Refuses any other index: it is not the loop's.
ValueId TermLowering::element(const Term& term) {
  const ValueId array = value_of(*term.arguments[0]);
  ValueId at = value_of(*term.arguments[1]);
  while (keeps_index(graph_, graph_[at])) at = graph_[at].arguments.front();
  const bool own = graph_[at].kind == Value::Kind::kIndex &&
                   graph_[at].domain == domains_.domain_of(term.arguments[0]->type(), term.at);
  if (!own) refuse(diagnostics_, term.at, "an element that is picked by a computed index");
  return array;
}

ValueId TermLowering::random(const Term& term) {
  Value value;
  value.kind = Value::Kind::kCompute;
  value.op = term.op;
  value.domain = domain_;
  value.type = term.type().element;
  value.purpose = term.purpose;
  value.at = term.at;
  return graph_.add(std::move(value));
}

}  // namespace casync::compll
