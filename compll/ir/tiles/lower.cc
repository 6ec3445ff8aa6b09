// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/lower.h"

#include <utility>

#include "compll/ir/tiles/term_lowering.h"
#include "compll/lang/syntax/diagnostic.h"

namespace casync::compll {
namespace {

/// Lowers a routine: its input, the codec's states, its steps.
class RoutineLowering {
 public:
  RoutineLowering(const Program& program, Graph& graph, Domains& domains, Diagnostics& diagnostics)
      : program_(program),
        graph_(graph),
        domains_(domains),
        diagnostics_(diagnostics),
        terms_(program, graph, domains, diagnostics) {}

  /// Lowers a routine's steps, given its input and the codec's states. Returns the input's value.
  ValueId run(const Routine& routine) {
    Value input;
    input.kind = Value::Kind::kInput;
    input.domain = Domain::kElement;
    input.type = kFloatType;
    input.name = program_.variables[routine.gradient].name;
    const ValueId id = graph_.add(std::move(input));
    terms_.bind(routine.gradient, id);
    for (std::uint32_t i = 0; i < routine.states.size(); ++i) {
      const VariableId variable = routine.states[i];
      if (program_.states[i].extent.kind != Extent::Kind::kElements) {
        refuse(diagnostics_, program_.variables[variable].at, "a state that has no element for each of the gradient's");
      }
      Value state;
      state.kind = Value::Kind::kState;
      state.domain = Domain::kElement;
      state.type = kFloatType;
      state.state = i;
      terms_.bind(variable, graph_.add(std::move(state)));
    }
    terms_.run(routine.steps);
    return id;
  }
  ValueId value_of(const Term& term) { return terms_.value_of(term); }
  std::vector<ValueId> states_then(const Routine& routine) {
    std::vector<ValueId> all;
    for (const VariableId variable : routine.states_then) all.push_back(terms_.value_of(variable));
    return all;
  }
  /// The value once for each entry of a section. A value that is the same for all of them is stored for each.
  ValueId entry_of(ValueId id, const Section& section) {
    const Domain domain = domains_.domain_of(section.type, graph_[id].at);
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
      if (reduces || value.kind == Value::Kind::kTransform)
        refuse(diagnostics_, value.at, "a `result` of more than one element");
    }
  }

 private:
  const Program& program_;
  Graph& graph_;
  Domains& domains_;
  Diagnostics& diagnostics_;
  TermLowering terms_;
};

bool keeps_residual(const Program& program) {
  return program.declares.feedback || program.declares.feedback_offered || program.states.empty();
}

EncodeGraph lower_encode(const Program& program, const Routine& routine, Domains& domains, Diagnostics& diagnostics) {
  EncodeGraph encode;
  RoutineLowering steps(program, encode.graph, domains, diagnostics);
  encode.input = steps.run(routine);
  std::vector<ValueId> sections;
  for (std::size_t i = 0; i < routine.sections.size(); ++i) {
    sections.push_back(steps.value_of(*routine.sections[i]));
    encode.graph.name(sections.back(), program.sections[i].name);
    encode.sections.push_back(steps.entry_of(sections.back(), program.sections[i]));
  }
  encode.states = steps.states_then(routine);
  if (!keeps_residual(program)) return encode;
  TermLowering back(program, encode.graph, domains, diagnostics);
  for (std::size_t i = 0; i < sections.size(); ++i) back.bind(program.decode.extracted[i], sections[i]);
  back.run(program.decode.steps);
  const ValueId given = back.value_of(*program.decode.result);
  encode.residual = encode.graph.compute(Op::kSubtract, kFloatType, {encode.input, given}, program.decode.result->at);
  return encode;
}

ResultGraph lower_result(const Program& program, const Routine& routine, Domains& domains, Diagnostics& diagnostics) {
  ResultGraph made;
  RoutineLowering steps(program, made.graph, domains, diagnostics);
  made.input = steps.run(routine);
  made.result = steps.value_of(*routine.result);
  made.states = steps.states_then(routine);
  steps.refuse_others();
  return made;
}

DecodeGraph lower_decode(const Program& program, Domains& domains, Diagnostics& diagnostics) {
  DecodeGraph decode;
  TermLowering steps(program, decode.graph, domains, diagnostics);
  for (std::uint32_t i = 0; i < program.sections.size(); ++i) {
    Value section;
    section.kind = Value::Kind::kSection;
    section.section = i;
    section.type = program.sections[i].type.element;
    section.domain = domains.domain_of(program.sections[i].type, {});
    steps.bind(program.decode.extracted[i], decode.graph.add(std::move(section)));
  }
  steps.run(program.decode.steps);
  decode.result = steps.value_of(*program.decode.result);
  return decode;
}

/// Lowers all routines. Throws CannotLower.
Lowered lower_all(const Program& program, Diagnostics& diagnostics) {
  Lowered lowered;
  Domains domains(diagnostics);
  lowered.encode = lower_encode(program, program.encode, domains, diagnostics);
  if (program.merge) lowered.merge = lower_encode(program, *program.merge, domains, diagnostics);
  lowered.decode = lower_decode(program, domains, diagnostics);
  if (program.result) lowered.result = lower_result(program, *program.result, domains, diagnostics);
  lowered.block = domains.block();
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
