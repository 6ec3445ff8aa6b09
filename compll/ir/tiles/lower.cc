// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/lower.h"

#include <utility>

#include "compll/lang/syntax/diagnostic.h"

namespace casync::compll {
namespace {

/// Thrown and caught in this file, after the reason has been noted.
struct CannotLower {};

/// Follows a routine's steps and notes for each variable which value it is.
class Lowering {
 public:
  Lowering(const Program& program, Graph& graph, std::optional<Constant>& block, Diagnostics& diagnostics)
      : program_(program), graph_(graph), block_(block), diagnostics_(diagnostics), values_(program.variables.size()) {}

  void bind(VariableId variable, ValueId value) {
    values_[variable] = value;
    graph_.name(value, program_.variables[variable].name);
  }
  void run(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      const std::vector<ValueId> values = all_of(*step.value);
      for (std::size_t i = 0; i < values.size(); ++i) bind(step.variables[i], values[i]);
    }
  }
  ValueId value_of(const Term& term) { return all_of(term).front(); }

  /// Lowers a routine's steps, given its input and the codec's states. Returns the input's value.
  ValueId run(const Routine& routine) {
    Value input;
    input.kind = Value::Kind::kInput;
    input.domain = Domain::kElement;
    input.type = kFloatType;
    input.name = program_.variables[routine.gradient].name;
    const ValueId id = graph_.add(std::move(input));
    bind(routine.gradient, id);
    for (std::uint32_t i = 0; i < routine.states.size(); ++i) {
      const VariableId variable = routine.states[i];
      if (program_.states[i].extent.kind != Extent::Kind::kElements) {
        refuse(program_.variables[variable].at, "a state that has no element for each of the gradient's");
      }
      Value state;
      state.kind = Value::Kind::kState;
      state.domain = Domain::kElement;
      state.type = kFloatType;
      state.state = i;
      bind(variable, graph_.add(std::move(state)));
    }
    run(routine.steps);
    return id;
  }
  std::vector<ValueId> states_then(const Routine& routine) {
    std::vector<ValueId> all;
    for (const VariableId variable : routine.states_then) all.push_back(*values_[variable]);
    return all;
  }
  /// The value once for each entry of a section. A value that is the same for all of them is stored for each.
  ValueId entry_of(ValueId id, const Section& section) {
    const Domain domain = domain_of(section.type, graph_[id].at);
    if (graph_[id].domain == domain) return id;
    Value value;
    value.kind = Value::Kind::kSpread;
    value.domain = domain;
    value.type = graph_[id].type;
    value.arguments = {id};
    value.at = graph_[id].at;
    return graph_.add(std::move(value));
  }
  /// Refuses a `result` that does not compute each element from its own inputs only.
  void refuse_others() {
    for (const Value& value : graph_.values()) {
      const bool reduces = value.kind == Value::Kind::kReduce || value.domain == Domain::kBlock;
      if (reduces || value.kind == Value::Kind::kTransform) refuse(value.at, "a `result` of more than one element");
    }
  }

  /// The domain in which an array's elements are computed.
  Domain domain_of(const Type& type, Span at) {
    if (!type.extent) return Domain::kTensor;
    if (type.extent->kind == Extent::Kind::kElements) return Domain::kElement;
    if (type.extent->kind == Extent::Kind::kFixed) refuse(at, "an array of a fixed size");
    if (type.extent->kind == Extent::Kind::kSized) refuse(at, "an array of a computed size");
    use_block(type.extent->count, at);
    return Domain::kBlock;
  }

 private:
  [[noreturn]] void refuse(Span at, const std::string& what) {
    diagnostics_.add(at, what + ", which cannot be taken apart into tiles");
    throw CannotLower();
  }

  void use_block(const Constant& block, Span at) {
    if (block_ && *block_ != block) refuse(at, "a second size of blocks");
    block_ = block;
  }

  std::vector<ValueId> all_of(const Term& term) {
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
      case GraphForm::kIndex: return {index(domain_of(term.type(), term.at), term)};
      case GraphForm::kTransform: return {transform(term)};
      case GraphForm::kNone: break;
    }
    refuse(term.at, "`" + std::string(name_of(term.op)) + "`");
  }

  ValueId compute(const Term& term) {
    std::vector<ValueId> arguments;
    for (const TermPtr& argument : term.arguments) arguments.push_back(value_of(*argument));
    return graph_.compute(term.op, term.type().element, std::move(arguments), term.at);
  }

  ValueId variable(const Term& term) {
    if (!values_[term.variable]) refuse(term.at, "a reduction by a function that looks at variables outside of it");
    return *values_[term.variable];
  }

  ValueId parameter(const Term& term) {
    const ProgramParameter& parameter = program_.parameters[term.parameter];
    if (parameter.fixed) return graph_.constant(term.type().element, parameter.initial, term.at);
    Value value;
    value.kind = Value::Kind::kParameter;
    value.type = term.type().element;
    value.parameter = term.parameter;
    value.at = term.at;
    return graph_.add(std::move(value));
  }

  ValueId index(Domain domain, const Term& term) {
    Value value;
    value.kind = Value::Kind::kIndex;
    value.domain = domain;
    value.type = term.type().element;
    value.at = term.at;
    return graph_.add(std::move(value));
  }

  ValueId count(const Term& term) {
    Value value;
    value.kind = Value::Kind::kCount;
    value.type = kUintType;
    value.over = domain_of(term.arguments.front()->type(), term.at);
    value.at = term.at;
    return graph_.add(std::move(value));
  }

  std::vector<ValueId> map(const Term& term) {
    const Body& body = *term.function;
    for (std::size_t i = 0; i < term.arguments.size(); ++i) bind(body.parameters[i], value_of(*term.arguments[i]));
    const Domain around = std::exchange(domain_, domain_of(term.type(), term.at));
    run(body.steps);
    std::vector<ValueId> results;
    for (const TermPtr& result : body.results) results.push_back(value_of(*result));
    domain_ = around;
    return results;
  }

  ValueId reduce(const Term& term) {
    Value value;
    const bool blocks = term.op == Op::kBlockReduce;
    value.kind = blocks ? Value::Kind::kBlockReduce : Value::Kind::kReduce;
    value.over = domain_of(term.arguments.front()->type(), term.at);
    value.domain = blocks ? Domain::kBlock : Domain::kTensor;
    if (blocks) use_block(term.block, term.at);
    value.type = term.type().element;
    value.reducer = term.reducer;
    value.at = term.at;
    for (const TermPtr& argument : term.arguments) value.arguments.push_back(value_of(*argument));
    if (term.reducer == Reducer::kUser) value.function = function(*term.function, value.type);
    return graph_.add(std::move(value));
  }

  std::uint32_t function(const Body& body, ScalarType type) {
    ReducerFunction made;
    Lowering inner(program_, made.graph, block_, diagnostics_);
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
      if (!own) refuse(value.at, "a reduction by a function of more than its two elements");
    }
    return graph_.add(std::move(made));
  }

  ValueId spread(const Term& term) {
    use_block(term.block, term.at);
    Value value;
    value.kind = Value::Kind::kSpread;
    value.domain = Domain::kElement;
    value.type = term.type().element;
    value.arguments = {value_of(*term.arguments.front())};
    value.at = term.at;
    if (graph_[value.arguments.front()].domain == Domain::kTensor) return value.arguments.front();
    return graph_.add(std::move(value));
  }

  ValueId transform(const Term& term) {
    Constant size = term.block;
    if (size.parameter && program_.parameters[*size.parameter].fixed) {
      size = {static_cast<std::uint32_t>(program_.parameters[*size.parameter].initial), {}, {}};
    }
    if ((size.parameter ? program_.parameters[*size.parameter].most : size.value) > kMostRotated) {
      refuse(term.at, "`hadamard` of more than " + std::to_string(kMostRotated) + " elements");
    }
    if (domain_of(term.type(), term.at) != Domain::kElement) refuse(term.at, "`hadamard` of what blocks have");
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
  ValueId element(const Term& term) {
    const ValueId array = value_of(*term.arguments[0]);
    ValueId at = value_of(*term.arguments[1]);
    while (graph_[at].kind == Value::Kind::kCompute && graph_[at].op == Op::kConvert) at = graph_[at].arguments.front();
    const bool own =
        graph_[at].kind == Value::Kind::kIndex && graph_[at].domain == domain_of(term.arguments[0]->type(), term.at);
    if (!own) refuse(term.at, "an element that is picked by a computed index");
    return array;
  }

  ValueId random(const Term& term) {
    Value value;
    value.kind = Value::Kind::kCompute;
    value.op = term.op;
    value.domain = domain_;
    value.type = term.type().element;
    value.purpose = term.purpose;
    value.at = term.at;
    return graph_.add(std::move(value));
  }

  const Program& program_;
  Graph& graph_;
  std::optional<Constant>& block_;
  Diagnostics& diagnostics_;
  std::vector<std::optional<ValueId>> values_;  ///< one for each variable
  Domain domain_ = Domain::kTensor;             ///< the domain of the map whose function is lowered
};

bool keeps_residual(const Program& program) {
  return program.declares.feedback || program.declares.feedback_offered || program.states.empty();
}

EncodeGraph lower_encode(const Program& program, const Routine& routine, std::optional<Constant>& block,
                         Diagnostics& diagnostics) {
  EncodeGraph encode;
  Lowering steps(program, encode.graph, block, diagnostics);
  encode.input = steps.run(routine);
  std::vector<ValueId> sections;
  for (std::size_t i = 0; i < routine.sections.size(); ++i) {
    sections.push_back(steps.value_of(*routine.sections[i]));
    encode.graph.name(sections.back(), program.sections[i].name);
    encode.sections.push_back(steps.entry_of(sections.back(), program.sections[i]));
  }
  encode.states = steps.states_then(routine);
  if (!keeps_residual(program)) return encode;
  Lowering back(program, encode.graph, block, diagnostics);
  for (std::size_t i = 0; i < sections.size(); ++i) back.bind(program.decode.extracted[i], sections[i]);
  back.run(program.decode.steps);
  const ValueId given = back.value_of(*program.decode.result);
  encode.residual = encode.graph.compute(Op::kSubtract, kFloatType, {encode.input, given}, program.decode.result->at);
  return encode;
}

ResultGraph lower_result(const Program& program, const Routine& routine, std::optional<Constant>& block,
                         Diagnostics& diagnostics) {
  ResultGraph made;
  Lowering steps(program, made.graph, block, diagnostics);
  made.input = steps.run(routine);
  made.result = steps.value_of(*routine.result);
  made.states = steps.states_then(routine);
  steps.refuse_others();
  return made;
}

void lower_decode(const Program& program, Lowered& lowered, Diagnostics& diagnostics) {
  DecodeGraph& decode = lowered.decode;
  Lowering steps(program, decode.graph, lowered.block, diagnostics);
  for (std::uint32_t i = 0; i < program.sections.size(); ++i) {
    Value section;
    section.kind = Value::Kind::kSection;
    section.section = i;
    section.type = program.sections[i].type.element;
    section.domain = steps.domain_of(program.sections[i].type, {});
    steps.bind(program.decode.extracted[i], decode.graph.add(std::move(section)));
  }
  steps.run(program.decode.steps);
  decode.result = steps.value_of(*program.decode.result);
}

/// Lowers all routines. Throws CannotLower.
Lowered lower_all(const Program& program, Diagnostics& diagnostics) {
  Lowered lowered;
  lowered.encode = lower_encode(program, program.encode, lowered.block, diagnostics);
  if (program.merge) lowered.merge = lower_encode(program, *program.merge, lowered.block, diagnostics);
  lower_decode(program, lowered, diagnostics);
  if (program.result) lowered.result = lower_result(program, *program.result, lowered.block, diagnostics);
  return lowered;
}

}  // namespace

Result<Lowered> lower(const Program& program, const Source& source) {
  if (program.synchronize) {
    return unimplemented(source.name() + ": `synchronize` cannot be taken apart into tiles");
  }
  Diagnostics diagnostics(source);
  try {
    return lower_all(program, diagnostics);
  } catch (const CannotLower&) {
    return unimplemented(diagnostics.status().message());
  }
}

std::optional<Diagnostic> why_not_lowered(const Program& program, const Source& source) {
  if (program.synchronize) return Diagnostic{{}, "`synchronize`, which cannot be taken apart into tiles", ""};
  Diagnostics diagnostics(source);
  try {
    lower_all(program, diagnostics);
  } catch (const CannotLower&) {
    return diagnostics.found().front();
  }
  return std::nullopt;
}

}  // namespace casync::compll
