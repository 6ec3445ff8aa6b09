// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/ir_text.h"

#include <set>
#include <vector>

#include "compll/codegen/text/plain_text.h"
#include "compll/ir/form.h"
#include "compll/ir/rounds/cpu/plan_text.h"
#include "compll/ir/rounds/rounds_plan.h"
#include "compll/ir/tiles/cpu/plan_text.h"
#include "compll/ir/tiles/cuda/plan_text.h"
#include "compll/ir/tiles/lower.h"
#include "compll/ir/vector/cpu/plan_text.h"
#include "compll/ir/vector/cuda/plan_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

std::string graphs_text(const Program& program, const Lowered& lowered) {
  std::string text = "encode\n" + text_of(lowered.encode.graph, program);
  if (lowered.merge) text += "merge\n" + text_of(lowered.merge->graph, program);
  text += "decode\n" + text_of(lowered.decode.graph, program);
  if (lowered.result) text += "result\n" + text_of(lowered.result->graph, program);
  return text;
}

std::vector<const Step*> all_of(const std::vector<Step>& steps) {
  std::vector<const Step*> all;
  all.reserve(steps.size());
  for (const Step& step : steps) all.push_back(&step);
  return all;
}

/// The sizes that arrays have by their number: `size 0 = rank * rows`.
std::string sizes_text(const Program& program) {
  std::string text;
  for (std::size_t i = 0; i < program.sizes.size(); ++i) {
    text += "size " + std::to_string(i) + " = " + comment_text(program.sizes[i].text) + "\n";
  }
  return text;
}

std::string kept_states_text(const Program& program, const Routine& routine) {
  std::string text;
  for (std::size_t i = 0; i < routine.states_then.size(); ++i) {
    text += "  keep " + program.states[i].name + " = " + name_of(program, routine.states_then[i]) + "\n";
  }
  return text;
}

/// The steps of a routine in vector form.
std::string vector_routine_text(const Program& program, const std::string& name, const Routine& routine) {
  std::string text = name + "\n" + text_of(program, all_of(routine.steps));
  text += kept_states_text(program, routine);
  for (const TermPtr& section : routine.sections) text += "  send " + text_of(program, *section) + "\n";
  if (routine.result) text += "  give " + text_of(program, *routine.result) + "\n";
  return text;
}

std::string vector_text(const Program& program, const std::string& why) {
  std::string text = "vector form, as " + why + "\n" + sizes_text(program);
  text += vector_routine_text(program, "encode", program.encode);
  if (program.merge) text += vector_routine_text(program, "merge", *program.merge);
  text += vector_routine_text(program, "decode", program.decode);
  return text + (program.result ? vector_routine_text(program, "result", *program.result) : "");
}

template <class Plan>
std::string plan_text(const Result<Plan>& plan) {
  return plan ? text_of(*plan) : plan.status().message() + "\n";
}

/// The plan of a target: by tiles, or in vector form with the reason, unless it is that of all targets.
template <class Tiles, class PlanVector>
std::string plan_text(const TargetForm<Tiles>& form, const PlanVector& plan_vector) {
  if (form.kind == Form::Kind::kTiles) return text_of(*form.tiles);
  return (form.lowered ? "vector form: " + form.reason + "\n" : "") + plan_text(plan_vector());
}

/// The turns of a program that exchanges.
class TurnsText {
 public:
  explicit TurnsText(const Program& program) : program_(program), plan_(plan_rounds(program)) {}

  std::string run() const {
    std::string text = std::to_string(program_.rounds) + (program_.rounds == 1 ? " exchange\n" : " exchanges\n");
    text += sizes_text(program_);
    for (std::size_t turn = 0; turn < plan_.turns.size(); ++turn) text += turn_text(turn);
    return text;
  }

 private:
  std::string turn_text(std::size_t turn) const {
    const TurnPlan& plan = plan_.turns[turn];
    std::string text = "turn " + std::to_string(turn) + "\n";
    for (const VariableId id : from_before(turn)) text += "  take " + name_of(program_, id) + "\n";
    text += text_of(program_, plan.steps);
    for (std::size_t i = 0; i < plan_.stored.size(); ++i) {
      if (plan_.stored_in[i] == turn) text += "  store " + name_of(program_, plan_.stored[i]) + "\n";
    }
    const std::string given = text_of(program_, *plan.given);
    if (turn < plan_.exchanged.size()) {
      const std::string word(word_of(exchanges_of(program_)[turn]));
      return text + "  exchange " + (word.empty() ? "" : word + " ") + name_of(program_, plan_.exchanged[turn]) +
             " = " + given + "\n";
    }
    return text + kept_states_text(program_, *program_.synchronize) + "  give " + given + "\n";
  }

  /// The values that earlier turns have exchanged or stored and that this one uses.
  std::vector<VariableId> from_before(std::size_t turn) const {
    const TurnPlan& plan = plan_.turns[turn];
    std::set<VariableId> used;
    const auto note = [&](const Term& term) {
      if (term.op == Op::kVariable) used.insert(term.variable);
    };
    for (const Step* step : plan.steps) for_each_term(*step->value, note);
    for_each_term(*plan.given, note);
    const bool is_last = turn == plan_.exchanged.size();
    if (is_last) used.insert(program_.synchronize->states_then.begin(), program_.synchronize->states_then.end());
    std::vector<VariableId> taken;
    for (std::size_t i = 0; i < turn; ++i) {
      if (used.count(plan_.exchanged[i]) != 0) taken.push_back(plan_.exchanged[i]);
    }
    for (std::size_t i = 0; i < plan_.stored.size(); ++i) {
      if (plan_.stored_in[i] < turn && used.count(plan_.stored[i]) != 0) taken.push_back(plan_.stored[i]);
    }
    return taken;
  }

  const Program& program_;
  const RoundsPlan plan_;
};

}  // namespace

std::string ir_text(const Program& program, const Source& source) {
  const CommonForm form = form_of(program, source);
  switch (form.kind) {
    case Form::Kind::kRounds: return TurnsText(program).run();
    case Form::Kind::kTiles: return graphs_text(program, *form.lowered);
    case Form::Kind::kVector: break;
  }
  return vector_text(program, form.reason);
}

std::string plans_text(const Program& program, const Source& source) {
  const TargetForm<CpuTiles> cpu = form_of(program, source, plan_cpu_tiles);
  const TargetForm<CudaTiles> cuda = form_of(program, source, plan_cuda_tiles);
  if (cuda.kind == Form::Kind::kRounds) {
    return "on a CPU\n" + plan_text(cpu_turns::plan_turns(program, source)) + "on a GPU\n" +
           plan_text(cuda_vector::plan_turns(program, source));
  }
  return "on a CPU\n" + plan_text(cpu, [&] { return cpu_vector::plan_vector(program, source); }) + "on a GPU\n" +
         plan_text(cuda, [&] { return cuda_vector::plan_vector(program, source); });
}

}  // namespace casync::compll
